#include "debezium/column_type.h"

#include <limits>
#include <string>
#include <utility>

#include "debezium/type_oids.h"

// The schemas; the values are read in column_value.cc.
namespace walpost::debezium {
namespace {

using Type = Schema::Type;

// numeric(p,s) is ((p << 16) | s) + 4; s has 11 bits and may be negative.
int32_t NumericPrecision(int32_t modifier) { return (modifier - 4) >> 16; }
int32_t NumericScale(int32_t modifier) {
  return (((modifier - 4) & 0x7ff) ^ 1024) - 1024;
}

std::string JoinedLabels(const std::vector<std::string>& labels) {
  std::string joined;
  for (const std::string& label : labels) {
    if (&label != &labels.front()) joined += ',';
    joined += label;
  }
  return joined;
}

Schema EnumSchema(const std::vector<std::string>& labels) {
  Schema schema = LogicalSchema(Type::kString, "io.debezium.data.Enum");
  schema.parameters = {{"allowed", JoinedLabels(labels)}};
  return schema;
}

Schema VariableScaleSchema() {
  Schema schema =
      LogicalSchema(Type::kStruct, "io.debezium.data.VariableScaleDecimal");
  schema.doc = "Variable scaled decimal";
  schema.fields = {
      {"scale", std::make_shared<Schema>(PlainSchema(Type::kInt32))},
      {"value", std::make_shared<Schema>(PlainSchema(Type::kBytes))}};
  return schema;
}

}  // namespace

std::unique_ptr<ColumnType> ColumnType::Of(const Column& column,
                                           const Options& options) {
  std::unique_ptr<ColumnType> type(new ColumnType(options));
  if (!type->MapType(column)) return nullptr;
  return type;
}

void ColumnType::Set(Kind kind, Schema schema) {
  kind_ = kind;
  schema_ = std::make_shared<Schema>(std::move(schema));
}

bool ColumnType::MapType(const Column& column) {
  if (!MapNamed(column)) return false;
  auto schema = std::make_shared<Schema>(*schema_);
  schema->is_optional = !column.is_not_null;
  schema_ = std::move(schema);
  return true;
}

bool ColumnType::MapNamed(const Column& column) {
  const bool is_array = column.type_name.starts_with('_');
  if (!column.enum_labels.empty() && !is_array) {
    Set(Kind::kText, EnumSchema(column.enum_labels));
    return true;
  }
  if (column.type_name == "citext" || column.type_name == "isbn") {
    Set(Kind::kText, PlainSchema(Type::kString));
    return true;
  }
  if (column.type_name == "ltree") {
    Set(Kind::kText, LogicalSchema(Type::kString, "io.debezium.data.Ltree"));
    return true;
  }
  if (column.type_name == "hstore") {
    Schema map = PlainSchema(Type::kMap);
    map.keys = std::make_shared<Schema>(PlainSchema(Type::kString));
    Schema values = PlainSchema(Type::kString);
    values.is_optional = true;
    map.values = std::make_shared<Schema>(std::move(values));
    Set(Kind::kHstore,
        options_.hstore == HstoreMode::kMap
            ? std::move(map)
            : LogicalSchema(Type::kString, "io.debezium.data.Json"));
    return true;
  }
  const uint32_t element_oid = ElementOid(column.type_oid);
  const bool is_named_array =
      is_array &&
      (!column.enum_labels.empty() || column.type_name == "_citext" ||
       column.type_name == "_ltree" || column.type_name == "_hstore");
  if (element_oid != 0 || is_named_array) return MapArray(column, element_oid);
  return MapBuiltIn(column);
}

bool ColumnType::MapArray(const Column& column, uint32_t element_oid) {
  Column element;
  element.name = column.name;
  element.type_oid = element_oid;
  element.type_modifier = column.type_modifier;
  if (element_oid == 0) {
    element.type_name = column.type_name.substr(1);
    element.enum_labels = column.enum_labels;
  }
  element_.reset(new ColumnType(options_));
  if (!element_->MapType(element)) return false;
  element_->is_in_array_ = true;
  Schema schema = PlainSchema(Type::kArray);
  schema.values = element_->schema();
  Set(Kind::kArray, std::move(schema));
  zero_ = "{}";
  return true;
}

bool ColumnType::MapBuiltIn(const Column& column) {
  const int32_t modifier = column.type_modifier;
  if (MapText(column.type_oid) || MapNumber(column.type_oid)) return true;
  switch (column.type_oid) {
    case pgoutput::kByteaOid:
      Set(Kind::kBytes, BinarySchema());
      zero_ = "\\x";
      return true;
    case kBitOid:
    case kVarbitOid:
      MapBits(column.type_oid, modifier);
      return true;
    case kNumericOid:
      MapNumeric(modifier);
      return true;
    case kMoneyOid:
      Set(Kind::kMoney, PlainDecimalSchema(2));
      zero_ = "0.00";
      return true;
    case kDateOid:
    case kTimeOid:
    case kTimetzOid:
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
    case kIntervalOid:
      if (modifier >= 0) precision_ = modifier;
      MapTime(column.type_oid);
      return true;
    default:
      return MapUnknown();
  }
}

// A type whose text is its value.
bool ColumnType::MapText(uint32_t type_oid) {
  std::string_view name;
  switch (type_oid) {
    case pgoutput::kTextOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kBpcharOid:
    case kCharOid:
    case kInetOid:
    case kCidrOid:
    case kMacaddrOid:
    case kMacaddr8Oid:
    case kInt4rangeOid:
    case kInt8rangeOid:
    case kNumrangeOid:
    case kTsrangeOid:
    case kTstzrangeOid:
    case kDaterangeOid:
    case pgoutput::kNameOid:
      break;
    case pgoutput::kUuidOid:
      name = "io.debezium.data.Uuid";
      break;
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
      name = "io.debezium.data.Json";
      break;
    case kXmlOid:
      name = "io.debezium.data.Xml";
      break;
    case kTsvectorOid:
      name = "io.debezium.data.Tsvector";
      break;
    default:
      return false;
  }
  const bool is_left_out =
      type_oid == pgoutput::kNameOid && !options_.unknown_types;
  Set(is_left_out ? Kind::kName : Kind::kText,
      name.empty() ? PlainSchema(Type::kString)
                   : LogicalSchema(Type::kString, name));
  return true;
}

bool ColumnType::MapNumber(uint32_t type_oid) {
  zero_ = "0";
  switch (type_oid) {
    case pgoutput::kBoolOid:
      Set(Kind::kBoolean, PlainSchema(Type::kBoolean));
      zero_ = "f";
      return true;
    case pgoutput::kInt2Oid:
      Set(Kind::kInt16, PlainSchema(Type::kInt16));
      return true;
    case pgoutput::kInt4Oid:
      Set(Kind::kInt32, PlainSchema(Type::kInt32));
      return true;
    case pgoutput::kInt8Oid:
    case kOidOid:
      Set(Kind::kInt64, PlainSchema(Type::kInt64));
      return true;
    case kFloat4Oid:
      Set(Kind::kFloat32, PlainSchema(Type::kFloat32));
      return true;
    case kFloat8Oid:
      Set(Kind::kFloat64, PlainSchema(Type::kFloat64));
      return true;
    default:
      zero_ = "";
      return false;
  }
}

bool ColumnType::MapUnknown() {
  if (!options_.unknown_types) return false;
  Set(Kind::kOpaque, BinarySchema());
  return true;
}

Schema ColumnType::BinarySchema() const {
  return PlainSchema(options_.binary == BinaryMode::kBytes ? Type::kBytes
                                                           : Type::kString);
}

Schema ColumnType::PlainDecimalSchema(int32_t scale) const {
  switch (options_.decimal) {
    case DecimalMode::kPrecise: {
      Schema schema = LogicalSchema(Type::kBytes, kDecimalName);
      schema.parameters = {{"scale", std::to_string(scale)}};
      return schema;
    }
    case DecimalMode::kString:
      return PlainSchema(Type::kString);
    case DecimalMode::kDouble:
      return PlainSchema(Type::kFloat64);
  }
  return {};
}

void ColumnType::MapNumeric(int32_t modifier) {
  zero_ = "0";
  has_scale_ = modifier >= 4;
  if (!has_scale_) {
    Set(Kind::kNumeric, options_.decimal == DecimalMode::kPrecise
                            ? VariableScaleSchema()
                            : PlainDecimalSchema(0));
    return;
  }
  scale_ = NumericScale(modifier);
  Schema schema = PlainDecimalSchema(scale_);
  if (options_.decimal == DecimalMode::kPrecise) {
    schema.parameters.emplace_back("connect.decimal.precision",
                                   std::to_string(NumericPrecision(modifier)));
  }
  Set(Kind::kNumeric, std::move(schema));
}

void ColumnType::MapBits(uint32_t type_oid, int32_t modifier) {
  // Without a length, varbit has the greatest one.
  int32_t length = modifier;
  if (modifier < 0) {
    length = type_oid == kVarbitOid ? std::numeric_limits<int32_t>::max() : 1;
  }
  if (length <= 1) {
    Set(Kind::kBit, PlainSchema(Type::kBoolean));
    zero_ = "0";
    return;
  }
  Schema schema = LogicalSchema(Type::kBytes, "io.debezium.data.Bits");
  schema.parameters = {{"length", std::to_string(length)}};
  Set(Kind::kBits, std::move(schema));
}

void ColumnType::MapTime(uint32_t type_oid) {
  const TimePrecision mode = options_.time_precision;
  const bool is_connect = mode == TimePrecision::kConnect;
  const bool is_iso = mode == TimePrecision::kIsoString;
  switch (type_oid) {
    case kTimetzOid:
      zero_ = "00:00:00+00";
      Set(Kind::kTimetz,
          LogicalSchema(Type::kString, "io.debezium.time.ZonedTime"));
      return;
    case pgoutput::kTimestamptzOid:
      zero_ = "1970-01-01 00:00:00+00";
      Set(Kind::kTimestamptz,
          LogicalSchema(Type::kString, "io.debezium.time.ZonedTimestamp"));
      return;
    case kIntervalOid:
      zero_ = "00:00:00";
      Set(Kind::kInterval,
          options_.interval == IntervalMode::kString
              ? LogicalSchema(Type::kString, "io.debezium.time.Interval")
              : LogicalSchema(Type::kInt64, "io.debezium.time.MicroDuration"));
      return;
    case kDateOid:
      zero_ = "1970-01-01";
      Set(Kind::kDate,
          is_connect ? LogicalSchema(Type::kInt32, kConnectDateName)
          : is_iso   ? LogicalSchema(Type::kString, "io.debezium.time.IsoDate")
                     : LogicalSchema(Type::kInt32, "io.debezium.time.Date"));
      return;
    default:
      break;
  }
  const bool is_time = type_oid == kTimeOid;
  zero_ = is_time ? "00:00:00" : "1970-01-01 00:00:00";
  std::string_view name;
  Type type = Type::kInt64;
  switch (mode) {
    case TimePrecision::kAdaptive:
    case TimePrecision::kAdaptiveTimeMicroseconds:
      if (precision_ > 3 ||
          (is_time && mode == TimePrecision::kAdaptiveTimeMicroseconds)) {
        name = is_time ? "io.debezium.time.MicroTime"
                       : "io.debezium.time.MicroTimestamp";
      } else {
        name = is_time ? "io.debezium.time.Time" : "io.debezium.time.Timestamp";
        if (is_time) type = Type::kInt32;
      }
      break;
    case TimePrecision::kMicroseconds:
      name = is_time ? "io.debezium.time.MicroTime"
                     : "io.debezium.time.MicroTimestamp";
      break;
    case TimePrecision::kNanoseconds:
      name = is_time ? "io.debezium.time.NanoTime"
                     : "io.debezium.time.NanoTimestamp";
      break;
    case TimePrecision::kConnect:
      name = is_time ? kConnectTimeName : kConnectTimestampName;
      if (is_time) type = Type::kInt32;
      break;
    case TimePrecision::kIsoString:
      name = is_time ? "io.debezium.time.IsoTime"
                     : "io.debezium.time.IsoTimestamp";
      type = Type::kString;
      break;
  }
  Set(is_time ? Kind::kTime : Kind::kTimestamp, LogicalSchema(type, name));
}

}  // namespace walpost::debezium
