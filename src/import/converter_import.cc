// The converters of keys, values and headers.
#include <optional>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "import/import_context.h"

namespace walpost {
namespace {

constexpr std::string_view kStringConverter =
    "org.apache.kafka.connect.storage.StringConverter";
constexpr std::string_view kJsonConverter =
    "org.apache.kafka.connect.json.JsonConverter";
constexpr std::string_view kByteConverter =
    "org.apache.kafka.connect.converters.ByteArrayConverter";
constexpr std::string_view kBinaryConverter =
    "io.debezium.converters.BinaryDataConverter";
constexpr std::string_view kFormerBinaryConverter =
    "io.debezium.converters.ByteBufferConverter";
constexpr std::string_view kSimpleConverter =
    "org.apache.kafka.connect.storage.SimpleHeaderConverter";

// Options of a JsonConverter; nullopt: it is another one.
struct JsonOptions {
  std::optional<std::string> decimals;
  bool replaces_null = true;
};

class ConverterTranslation {
 public:
  explicit ConverterTranslation(ImportContext& context) : context_(context) {}

  void Run() {
    std::optional<std::string> decimals;
    for (const char* part : {"key", "value", "header"}) {
      const JsonOptions options = Translate(part);
      if (!options.replaces_null) NoteNulls(part);
      if (!options.decimals) continue;
      if (decimals && *decimals != *options.decimals) {
        context_.report.Refuse(
            std::string(part) + ".converter.decimal.format",
            "the converters differ in it (BASE64 without it), and walpost has "
            "one records.json_decimals for all: if no decimal number is in a "
            "key or a header, set it there as for the value");
        return;
      }
      decimals = options.decimals;
    }
    if (decimals && *decimals != "base64") {
      context_.SetRecords("json_decimals", *decimals);
    }
  }

 private:
  void NoteNulls(std::string_view part) {
    if (part == "value") {
      context_.SetRecords("replace_null_with_default", "false");
    } else {
      context_.report.NotNeeded(
          fmt::format("{}.converter.replace.null.with.default", part),
          "the router has put the default in the place of NULL before");
    }
  }

  // `part` is key, value or header.
  JsonOptions Translate(const std::string& part) {
    name_ = part + ".converter";
    if (context_.is_server) return TranslateFormat(part);
    from_ = context_.settings.Find(name_) != nullptr ? &context_.settings
                                                     : &context_.worker;
    const auto type = context_.Plain(*from_, name_);
    if (!type) {
      for (Setting* lonely : context_.settings.WithPrefix(name_ + ".")) {
        lonely->is_taken = true;
        context_.report.Refuse(
            lonely->key,
            fmt::format("without {0} it has no effect in Connect: set {0}, or "
                        "remove it",
                        name_));
      }
      if (from_->Find(name_) != nullptr) return {};
      if (part == "header") return {};  // SimpleHeaderConverter
      if (!context_.has_worker) {
        context_.report.Open(
            name_,
            "it is missing, so the worker's applies: give --worker FILE with "
            "the worker's properties. Without it, JsonConverter with schemas "
            "is taken, as in Debezium's container image");
      } else {
        context_.report.Open(name_,
                             "neither the connector nor the worker has it: "
                             "JsonConverter with schemas is taken");
      }
      return {};
    }
    return part == "header" ? TranslateHeader(*type)
                            : TranslateData(part, *type);
  }

  void Refuse(const std::string& name, std::string_view text) {
    const Setting* setting = from_->Find(name);
    context_.report.Refuse(setting == nullptr ? name : setting->key,
                           std::string(text));
  }

  // The options that JsonConverter has behind `prefix`.
  std::string TranslateJson(const std::string& prefix, JsonOptions& options) {
    const bool has_schemas =
        context_.Flag(*from_, prefix + "schemas.enable").value_or(true);
    options.decimals = "base64";
    if (const auto format = context_.Plain(*from_, prefix + "decimal.format")) {
      if (*format == "BASE64" || *format == "NUMERIC") {
        options.decimals = *format == "BASE64" ? "base64" : "numeric";
      } else {
        Refuse(prefix + "decimal.format",
               fmt::format("'{}' is not BASE64 or NUMERIC", *format));
      }
    }
    options.replaces_null =
        context_.Flag(*from_, prefix + "replace.null.with.default")
            .value_or(true);
    if (const Setting* cache = from_->Take(prefix + "schemas.cache.size")) {
      context_.report.NotNeeded(cache->key, "schemas are not cached by number");
    }
    return has_schemas ? "json_schemas" : "json";
  }

  void RefuseOthers() {
    for (Setting* other : from_->WithPrefix(name_ + ".")) {
      if (other->is_taken) continue;
      other->is_taken = true;
      if (other->name.ends_with(".schemas.enable")) {
        context_.report.NotNeeded(other->key, "the converter does not read it");
      } else {
        context_.report.Refuse(other->key,
                               "this is not an option of the converter that "
                               "walpost knows");
      }
    }
  }

  static std::string Remedy(std::string_view type) {
    if (type.find("Avro") != std::string_view::npos ||
        type.find("Protobuf") != std::string_view::npos ||
        type.find("JsonSchemaConverter") != std::string_view::npos) {
      return "walpost uses no schema registry: change consumers and converter "
             "before, or keep Debezium for them (value.format: protobuf is "
             "walpost's own)";
    }
    return "walpost has StringConverter, JsonConverter, ByteArrayConverter and "
           "BinaryDataConverter";
  }

  JsonOptions TranslateData(const std::string& part, const std::string& type) {
    JsonOptions options;
    std::string converter;
    if (type == kStringConverter) {
      converter = "string";
    } else if (type == kJsonConverter) {
      converter = TranslateJson(name_ + ".", options);
    } else if (type == kByteConverter) {
      converter = "bytes";
    } else if (type == kBinaryConverter || type == kFormerBinaryConverter) {
      const std::string delegate = name_ + ".delegate.converter.type";
      const auto its = context_.Plain(*from_, delegate);
      if (!its) {
        converter = "bytes";
      } else if (*its == kStringConverter) {
        converter = "bytes_or_string";
      } else if (*its == kJsonConverter) {
        converter = "bytes_or_" + TranslateJson(delegate + ".", options);
      } else {
        Refuse(delegate, fmt::format("'{}': {}", *its, Remedy(*its)));
      }
    } else {
      Refuse(name_, fmt::format("'{}': {}", type, Remedy(type)));
      for (Setting* its : from_->WithPrefix(name_ + ".")) its->is_taken = true;
      return options;
    }
    RefuseOthers();
    if (converter != "json_schemas") {
      context_.SetRecords(part + "_converter", converter);
    }
    return options;
  }

  JsonOptions TranslateHeader(const std::string& type) {
    JsonOptions options;
    std::string converter;
    if (type == kSimpleConverter) {
      RefuseOthers();
      return options;
    }
    if (type == kStringConverter) {
      converter = "string";
    } else if (type == kJsonConverter) {
      converter = TranslateJson(name_ + ".", options);
    } else {
      Refuse(name_, fmt::format("'{}': walpost has SimpleHeaderConverter, "
                                "StringConverter and JsonConverter",
                                type));
    }
    RefuseOthers();
    if (!converter.empty()) {
      context_.SetRecords("header_converter", converter);
    }
    return options;
  }

  // debezium.format.key and the like.
  JsonOptions TranslateFormat(const std::string& part) {
    from_ = &context_.sink;
    const std::string name = "format." + part;
    const std::string format =
        context_.Plain(context_.sink, name).value_or("json");
    JsonOptions options;
    std::string converter;
    if (format == "json") {
      const bool has_schemas =
          context_.Flag(*from_, "format.schemas.enable").value_or(true);
      const bool has_own = from_->Find(name + ".schemas.enable") != nullptr;
      converter = TranslateJson(name + ".", options);
      if (!has_own) converter = has_schemas ? "json_schemas" : "json";
    } else if (format == "simplestring") {
      converter = "string";
    } else if (format == "binary" && part != "header") {
      converter = "bytes";
    } else {
      Refuse(name, fmt::format("'{}': walpost has json, simplestring and "
                               "binary",
                               format));
      return options;
    }
    name_ = name;
    RefuseOthers();
    context_.SetRecords(part + "_converter", converter);
    return options;
  }

  ImportContext& context_;
  std::string name_;
  Settings* from_ = nullptr;
};

}  // namespace

void ImportConverters(ImportContext& context) {
  ConverterTranslation(context).Run();
}

}  // namespace walpost
