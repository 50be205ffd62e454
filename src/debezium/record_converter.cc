#include "debezium/record_converter.h"

#include "base/status_macros.h"
#include "debezium/simple_header.h"

namespace walpost::debezium {
namespace {

JsonConverter::Schemas SchemasOf(bool are_written) {
  return are_written ? JsonConverter::Schemas::kWritten
                     : JsonConverter::Schemas::kLeftOut;
}

bool WritesSchemas(Converter converter) {
  return converter == Converter::kJsonSchemas ||
         converter == Converter::kBytesOrJsonSchemas;
}

}  // namespace

RecordConverter::RecordConverter(Converter converter, const Options& options)
    : schemas_(SchemasOf(WritesSchemas(converter))),
      json_(schemas_, options.json_decimals,
            options.replace_null_with_default) {
  switch (converter) {
    case Converter::kString:
      form_ = Form::kJavaText;
      break;
    case Converter::kJson:
    case Converter::kJsonSchemas:
      form_ = Form::kJson;
      break;
    case Converter::kBytes:
      takes_bytes_ = true;
      break;
    case Converter::kBytesOrString:
      takes_bytes_ = true;
      form_ = Form::kJavaText;
      break;
    case Converter::kBytesOrJson:
    case Converter::kBytesOrJsonSchemas:
      takes_bytes_ = true;
      form_ = Form::kJson;
      break;
  }
}

RecordConverter::RecordConverter(HeaderConverter converter,
                                 const Options& options)
    : schemas_(SchemasOf(converter == HeaderConverter::kJsonSchemas)),
      json_(schemas_, options.json_decimals,
            options.replace_null_with_default) {
  switch (converter) {
    case HeaderConverter::kSimple:
      form_ = Form::kSimple;
      break;
    case HeaderConverter::kString:
      form_ = Form::kJavaText;
      break;
    case HeaderConverter::kJson:
    case HeaderConverter::kJsonSchemas:
      form_ = Form::kJson;
      break;
  }
}

std::string RecordConverter::SchemaJson(const Schema& schema) const {
  std::string json;
  const bool is_written = form_ == Form::kJson &&
                          schemas_ == JsonConverter::Schemas::kWritten &&
                          json_.AppendSchema(schema, nullptr, json).ok();
  return is_written ? json : std::string();
}

absl::Status RecordConverter::Convert(const TypedValue& value,
                                      std::string& buffer, Text& bytes) const {
  bytes = std::nullopt;
  if (takes_bytes_) {
    if (const auto* raw = std::get_if<Bytes>(value.value)) {
      bytes = raw->bytes;
      return absl::OkStatus();
    }
    const bool is_bytes =
        value.schema != nullptr && value.schema->type == Schema::Type::kBytes;
    if (value.value->is_null() && (is_bytes || !form_)) return absl::OkStatus();
  }
  return Delegate(value, buffer, bytes);
}

absl::Status RecordConverter::Delegate(const TypedValue& value,
                                       std::string& buffer, Text& bytes) const {
  if (!form_) {
    return absl::InvalidArgumentError(
        "the converter bytes takes only bytes: set bytes_or_string, "
        "bytes_or_json or another converter");
  }
  if (*form_ == Form::kJson) return ConvertJson(value, buffer, bytes);
  return ConvertText(value, buffer, bytes);
}

absl::Status RecordConverter::ConvertText(const TypedValue& value,
                                          std::string& buffer,
                                          Text& bytes) const {
  if (value.value->is_null()) return absl::OkStatus();
  const auto* text = std::get_if<std::string_view>(value.value);
  if (text != nullptr && !HasLoneSurrogate(*text)) {
    bytes = *text;
    return absl::OkStatus();
  }
  buffer.clear();
  if (*form_ == Form::kSimple) {
    WALPOST_RETURN_IF_ERROR(AppendSimpleHeader(*value.value, buffer));
  } else if (const absl::Status status = AppendJavaText(*value.value, buffer);
             !status.ok()) {
    return absl::InvalidArgumentError(
        std::string(status.message()) +
        ": set the converter json, or, for a column of bytes, bytes");
  }
  bytes = buffer;
  return absl::OkStatus();
}

absl::Status RecordConverter::ConvertJson(const TypedValue& value,
                                          std::string& buffer,
                                          Text& bytes) const {
  if (value.schema == nullptr && value.value->is_null()) {
    return absl::OkStatus();
  }
  buffer.clear();
  WALPOST_RETURN_IF_ERROR(json_.Append(value, buffer));
  bytes = buffer;
  return absl::OkStatus();
}

}  // namespace walpost::debezium
