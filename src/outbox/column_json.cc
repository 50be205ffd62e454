#include "outbox/column_json.h"

#include "pgoutput/type_oid.h"

namespace walpost {

void ColumnJson::Begin() {
  buffer_.Clear();
  writer_.Reset(buffer_);
  writer_.StartObject();
}

void ColumnJson::Add(std::string_view name, uint32_t type_oid,
                     const Value& value) {
  writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  if (!value.has_value()) {
    writer_.Null();
    return;
  }
  switch (type_oid) {
    case pgoutput::kInt2Oid:
    case pgoutput::kInt4Oid:
    case pgoutput::kInt8Oid:
      writer_.RawValue(value->data(), value->size(), rapidjson::kNumberType);
      return;
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
      writer_.RawValue(value->data(), value->size(), rapidjson::kObjectType);
      return;
    case pgoutput::kBoolOid:
      writer_.Bool(*value == "t");
      return;
    default:
      writer_.String(value->data(),
                     static_cast<rapidjson::SizeType>(value->size()));
  }
}

std::string_view ColumnJson::Finish() {
  writer_.EndObject();
  return {buffer_.GetString(), buffer_.GetSize()};
}

}  // namespace walpost
