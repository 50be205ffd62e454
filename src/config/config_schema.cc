#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "config/reference.h"
#include "config/reference_keys.h"
#include "config/units.h"

namespace walpost {
namespace {

using Kind = KeyDescription::Kind;

using Json = rapidjson::Value;

class SchemaWriter {
 public:
  SchemaWriter() : root_(Mapping()) {
    Set(root_, "$schema", "https://json-schema.org/draft/2020-12/schema");
    Set(root_, "title", "walpost.yaml");
  }

  void Write(const KeyDescription& key) {
    Json* section = &root_;
    std::string_view rest = key.path;
    size_t dot = rest.find('.');
    for (; dot != std::string_view::npos; dot = rest.find('.')) {
      std::string name(rest.substr(0, dot));
      const bool is_list = name.ends_with("]");
      if (is_list) name.resize(name.find('['));
      section = &SectionIn(*section, name, is_list);
      rest.remove_prefix(dot + 1);
    }
    const std::string name(rest);
    Json& properties = (*section)["properties"];
    if (key.kind == Kind::kSection) {
      if (!properties.HasMember(name.c_str())) Set(properties, name, Mapping());
      Describe(properties[name.c_str()], key);
      return;
    }
    Json schema = SchemaOf(key);
    Describe(schema, key);
    Set(properties, name, std::move(schema));
  }

  std::string text() const {
    rapidjson::StringBuffer buffer;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
    writer.SetIndent(' ', 2);
    root_.Accept(writer);
    return buffer.GetString();
  }

 private:
  static constexpr const char* kReference = R"(\$\{)";

  Json Text(std::string_view text) {
    return Json(text.data(), static_cast<rapidjson::SizeType>(text.size()),
                memory_);
  }
  void Set(Json& object, std::string_view name, Json value) {
    object.AddMember(Text(name), value, memory_);
  }
  void Set(Json& object, std::string_view name, std::string_view value) {
    Set(object, name, Text(value));
  }

  // A key without a value is one that is missing.
  Json Mapping() {
    Json mapping(rapidjson::kObjectType);
    Set(mapping, "type", TypeNames({"object", "null"}));
    Set(mapping, "additionalProperties", Json(false));
    Set(mapping, "properties", Json(rapidjson::kObjectType));
    return mapping;
  }

  Json TypeNames(const std::vector<std::string>& names) {
    Json types(rapidjson::kArrayType);
    for (const std::string& name : names) types.PushBack(Text(name), memory_);
    return types;
  }

  Json Types(const std::vector<std::string>& names) {
    Json schema(rapidjson::kObjectType);
    Set(schema, "type", TypeNames(names));
    return schema;
  }

  // A plain word is a text in the file, also where it looks like a number.
  Json Scalar() { return Types({"string", "number", "boolean", "null"}); }

  // A reference fits, too: nobody knows its value here.
  Json Pattern(const std::string& pattern) {
    Json schema = Types({"string"});
    Set(schema, "pattern", pattern + kReference);
    return schema;
  }

  Json AnyOf(std::vector<Json> schemas) {
    Json any(rapidjson::kArrayType);
    for (Json& schema : schemas) any.PushBack(schema, memory_);
    Json schema(rapidjson::kObjectType);
    Set(schema, "anyOf", std::move(any));
    return schema;
  }

  Json ListOf(Json items) {
    Json schema = Types({"array", "null"});
    Set(schema, "items", std::move(items));
    return schema;
  }

  Json Either(Json one, Json other) {
    std::vector<Json> schemas;
    schemas.push_back(std::move(one));
    schemas.push_back(std::move(other));
    schemas.push_back(Types({"null"}));
    return AnyOf(std::move(schemas));
  }

  Json Number(const KeyDescription& key) {
    Json number = Types({"integer"});
    Set(number, "minimum", Json(ParseSize(key.least).value_or(0)));
    Set(number, "maximum", Json(ParseSize(key.most).value_or(0)));
    return Either(std::move(number),
                  Pattern(key.may_be_auto ? "^auto$|^[0-9]+([KMG]iB)?$|"
                                          : "^[0-9]+([KMG]iB)?$|"));
  }

  Json Choice(const std::vector<std::string>& choices) {
    Json names = Types({"string"});
    Set(names, "enum", TypeNames(choices));
    return Either(std::move(names), Pattern(""));
  }

  Json SchemaOf(const KeyDescription& key) {
    switch (key.kind) {
      case Kind::kFlag:
        return Either(Types({"boolean"}), Pattern("^(true|false)$|"));
      case Kind::kDuration:
        return Either(Pattern("^[0-9]+(ms|s|m|h|d)$|"), Types({"null"}));
      case Kind::kCount:
      case Kind::kSize:
        return Number(key);
      case Kind::kChoice:
        return Choice(key.choices);
      case Kind::kList:
        return ListOf(Scalar());
      case Kind::kTextOrList:
        return Either(Scalar(), ListOf(Scalar()));
      case Kind::kMap: {
        Json schema = Types({"object", "null"});
        Set(schema, "additionalProperties", Scalar());
        return schema;
      }
      case Kind::kField: {
        Json constant = Mapping();
        Set(constant["properties"], "constant", Scalar());
        return Either(Scalar(), std::move(constant));
      }
      case Kind::kText:
      case Kind::kNullable:
      case Kind::kSection:
        break;
    }
    return Scalar();
  }

  void Describe(Json& schema, const KeyDescription& key) {
    Set(schema, "description", WithoutLinks(TextOf(key).text));
    const std::string value = DefaultOf(key);
    if (!value.empty()) Set(schema, "default", value);
  }

  Json& SectionIn(Json& section, const std::string& name, bool is_list) {
    Json& properties = section["properties"];
    if (!properties.HasMember(name.c_str())) {
      Set(properties, name, is_list ? ListOf(Mapping()) : Mapping());
    }
    Json& found = properties[name.c_str()];
    return is_list ? found["items"] : found;
  }

  rapidjson::MemoryPoolAllocator<> memory_;
  Json root_;
};

}  // namespace

std::string ConfigSchema() {
  SchemaWriter writer;
  for (const KeyDescription& key : ReferenceKeys()) writer.Write(key);
  return writer.text() + "\n";
}

}  // namespace walpost
