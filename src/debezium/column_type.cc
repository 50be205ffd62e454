#include "debezium/column_type.h"

#include <limits>
#include <string>
#include <utility>

#include "debezium/type_oids.h"

// The schemas; the values are read in column_value.cc.
namespace walpost::debezium {
namespace {

using Type = Schema::Type;

// numeric(p,s) is ((p << 16) | s) + 4; s has 11 bits, and to Debezium no sign:
// -2 is 2046.
int32_t NumericPrecision(int32_t modifier) { return (modifier - 4) >> 16; }
int32_t NumericScale(int32_t modifier) { return (modifier - 4) & 0x7ff; }

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

SchemaRef Shared(Schema schema) {
  return std::make_shared<Schema>(std::move(schema));
}

SchemaRef OptionalOf(Type type) {
  Schema schema = PlainSchema(type);
  schema.is_optional = true;
  return Shared(std::move(schema));
}

Schema GeometricSchema(std::string_view name, std::string_view doc) {
  Schema schema = LogicalSchema(
      Type::kStruct, "io.debezium.data.geometry." + std::string(name));
  schema.doc = doc;
  return schema;
}

Schema PointSchema() {
  Schema schema = GeometricSchema("Point", "Geometry (POINT)");
  schema.fields = {{"x", Shared(PlainSchema(Type::kFloat64))},
                   {"y", Shared(PlainSchema(Type::kFloat64))},
                   {"wkb", OptionalOf(Type::kBytes)},
                   {"srid", OptionalOf(Type::kInt32)}};
  return schema;
}

Schema LineSchema() {
  Schema schema = GeometricSchema("Line", "Geometry (LINE)");
  schema.is_optional = true;
  for (const char* name : {"a", "b", "c"}) {
    schema.fields.push_back({name, Shared(PlainSchema(Type::kFloat64))});
  }
  return schema;
}

Schema CircleSchema() {
  Schema schema = GeometricSchema("Circle", "Geometry (CIRCLE)");
  schema.is_optional = true;
  schema.fields = {{"center", Shared(PointSchema())},
                   {"radius", Shared(PlainSchema(Type::kFloat64))}};
  return schema;
}

Schema GeographySchema() {
  Schema schema = GeometricSchema("Geography", "Geography");
  schema.fields = {{"wkb", Shared(PlainSchema(Type::kBytes))},
                   {"srid", OptionalOf(Type::kInt32)}};
  return schema;
}

Schema GeometrySchema() {
  Schema schema = GeometricSchema("Geometry", "Geometry");
  schema.is_optional = true;
  schema.version = 2;
  Schema extensions = PlainSchema(Type::kMap);
  extensions.is_optional = true;
  extensions.keys = Shared(PlainSchema(Type::kString));
  extensions.values = Shared(PlainSchema(Type::kString));
  schema.fields = {{"wkb", Shared(PlainSchema(Type::kBytes))},
                   {"srid", OptionalOf(Type::kInt32)},
                   {"extensions", Shared(std::move(extensions))}};
  return schema;
}

Schema VectorSchema(std::string_view name, Type element) {
  Schema schema = LogicalSchema(Type::kArray, name);
  schema.values = Shared(PlainSchema(element));
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

absl::StatusOr<std::unique_ptr<ColumnType>> ColumnType::Of(
    const Column& column, const Options& options) {
  std::unique_ptr<ColumnType> type(new ColumnType(options));
  switch (type->MapType(column)) {
    case Outcome::kMapped:
      return type;
    case Outcome::kLeftOut:
      return std::unique_ptr<ColumnType>();
    case Outcome::kNotMade:
      break;
  }
  return absl::UnimplementedError("walpost cannot make values of this type");
}

void ColumnType::Set(Kind kind, Schema schema) {
  kind_ = kind;
  schema_ = std::make_shared<Schema>(std::move(schema));
}

ColumnType::Outcome ColumnType::MapType(const Column& column) {
  const Outcome outcome = MapNamed(column);
  if (outcome != Outcome::kMapped) return outcome;
  auto schema = std::make_shared<Schema>(*schema_);
  // Some schemas are optional, whatever their columns are.
  schema->is_optional = schema->is_optional || !column.is_not_null;
  schema_ = std::move(schema);
  return outcome;
}

ColumnType::Outcome ColumnType::MapNamed(const Column& column) {
  if (column.element_oid != 0) return MapArray(column);
  if (!column.enum_labels.empty()) {
    Set(Kind::kText, EnumSchema(column.enum_labels));
    return Outcome::kMapped;
  }
  // Its map is in the order of Java's hash table, which may be a tree.
  if (column.type_name == "sparsevec") return Outcome::kNotMade;
  if (MapExtension(column.type_name)) return Outcome::kMapped;
  return MapBuiltIn(column);
}

bool ColumnType::MapExtension(std::string_view name) {
  if (name == "citext" || name == "isbn") {
    Set(Kind::kCitext, PlainSchema(Type::kString));
  } else if (name == "ltree") {
    Set(Kind::kText, LogicalSchema(Type::kString, "io.debezium.data.Ltree"));
  } else if (name == "hstore") {
    Schema map = PlainSchema(Type::kMap);
    map.keys = Shared(PlainSchema(Type::kString));
    map.values = OptionalOf(Type::kString);
    Set(Kind::kHstore,
        options_.hstore == HstoreMode::kMap
            ? std::move(map)
            : LogicalSchema(Type::kString, "io.debezium.data.Json"));
  } else if (name == "geometry" || name == "geography") {
    Set(Kind::kGeometry,
        name == "geometry" ? GeometrySchema() : GeographySchema());
    zero_ = kEmptyGeometry;
  } else if (name == "vector") {
    Set(Kind::kVector,
        VectorSchema("io.debezium.data.DoubleVector", Type::kFloat64));
    zero_ = "[]";
  } else if (name == "halfvec") {
    Set(Kind::kHalfVector,
        VectorSchema("io.debezium.data.FloatVector", Type::kFloat32));
    zero_ = "[]";
  } else {
    return false;
  }
  return true;
}

ColumnType::Outcome ColumnType::MapArray(const Column& column) {
  const std::string_view name = column.element_name;
  if (IsLeftOutElement(column.element_oid)) return Outcome::kLeftOut;
  const bool is_vector =
      column.type_oid == kInt2vectorOid || column.type_oid == kOidvectorOid;
  if (is_vector || IsGeometricOid(column.element_oid) || name == "geometry" ||
      name == "geography") {
    return Outcome::kNotMade;
  }
  if (column.element_oid == kBitOid) {
    MapBits(kBitOid, column.type_modifier);
    kind_ = Kind::kBitArray;
    return Outcome::kMapped;
  }
  element_.reset(new ColumnType(options_));
  element_->is_in_array_ = true;
  if (column.has_enum_elements) {
    element_->Set(Kind::kText, EnumSchema(column.enum_labels));
  } else {
    Column element;
    element.name = column.name;
    element.type_oid = column.element_oid;
    element.type_name = name;
    element.type_modifier = column.type_modifier;
    element.is_not_null = !IsListedElement(column.element_oid) &&
                          name != "citext" && name != "ltree" &&
                          name != "hstore";
    const Outcome outcome = element_->MapType(element);
    if (outcome != Outcome::kMapped) return outcome;
  }
  Schema schema = PlainSchema(Type::kArray);
  schema.values = element_->schema();
  Set(Kind::kArray, std::move(schema));
  zero_ = "{}";
  return Outcome::kMapped;
}

ColumnType::Outcome ColumnType::MapBuiltIn(const Column& column) {
  const int32_t modifier = column.type_modifier;
  if (MapText(column.type_oid) || MapNumber(column.type_oid) ||
      MapGeometric(column.type_oid)) {
    return Outcome::kMapped;
  }
  switch (column.type_oid) {
    case pgoutput::kByteaOid:
      Set(Kind::kBytes, BinarySchema());
      zero_ = "\\x";
      return Outcome::kMapped;
    case kBitOid:
    case kVarbitOid:
      MapBits(column.type_oid, modifier);
      return Outcome::kMapped;
    case kNumericOid:
      MapNumeric(modifier);
      return Outcome::kMapped;
    case kMoneyOid:
      Set(Kind::kMoney, PlainDecimalSchema(2));
      zero_ = "0.00";
      return Outcome::kMapped;
    case kDateOid:
    case kTimeOid:
    case kTimetzOid:
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
    case kIntervalOid:
      if (modifier >= 0) precision_ = modifier;
      MapTime(column.type_oid);
      return Outcome::kMapped;
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

bool ColumnType::MapGeometric(uint32_t type_oid) {
  switch (type_oid) {
    case kPointOid:
      Set(Kind::kPoint, PointSchema());
      zero_ = "(0,0)";
      return true;
    case kLineOid:
      Set(Kind::kLine, LineSchema());
      return true;
    case kCircleOid:
      Set(Kind::kCircle, CircleSchema());
      return true;
    case kBoxOid:
      shape_ = Shape::kBox;
      break;
    case kLsegOid:
      shape_ = Shape::kSegment;
      break;
    case kPathOid:
      shape_ = Shape::kPath;
      break;
    case kPolygonOid:
      shape_ = Shape::kPolygon;
      break;
    default:
      return false;
  }
  Set(Kind::kShape, GeometrySchema());
  return true;
}

ColumnType::Outcome ColumnType::MapUnknown() {
  if (!options_.unknown_types) return Outcome::kLeftOut;
  Set(Kind::kOpaque, BinarySchema());
  return Outcome::kMapped;
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
