// ColumnType: a column's type as Debezium's Postgres connector maps it: the
// schema of Kafka Connect, and the text of the server -> a value of that
// schema.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "debezium/connect_schema.h"
#include "debezium/connect_value.h"
#include "debezium/geometry.h"
#include "debezium/options.h"
#include "debezium/row_encoder.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

class ColumnType {
 public:
  // nullptr: Debezium's records have no columns of this type. kUnimplemented:
  // they have, but walpost cannot make them.
  static absl::StatusOr<std::unique_ptr<ColumnType>> Of(const Column& column,
                                                        const Options& options);

  // Optional if the column is nullable; without a default.
  const SchemaRef& schema() const { return schema_; }

  // The value of the column; null also for what Debezium only logs: a number
  // that is none where the mode is precise, a time beyond its type.
  //
  // kInvalidArgument: its task fails; names the cause. The value is valid as
  // long as the text and the arena.
  absl::Status Read(Text text, TextArena& arena, Value& value) const;

 private:
  enum class Kind {
    kText,
    kCitext,  // also other texts whose nested arrays have no text in Java
    kName,    // left out of what the connector decodes
    kOpaque,
    kBoolean,
    kInt16,
    kInt32,
    kInt64,
    kFloat32,
    kFloat64,
    kBytes,
    kBit,
    kBits,
    kNumeric,
    kMoney,
    kDate,
    kTime,
    kTimestamp,
    kTimestamptz,
    kTimetz,
    kInterval,
    kHstore,
    kPoint,
    kLine,
    kCircle,
    kShape,     // a box, path, lseg or polygon
    kGeometry,  // of PostGIS; also a geography
    kVector,
    kHalfVector,
    kArray,
    kBitArray,  // Debezium gives its column the type of one bit string
  };
  enum class Outcome { kMapped, kLeftOut, kNotMade };

  explicit ColumnType(const Options& options) : options_(options) {}

  Outcome MapType(const Column& column);
  Outcome MapNamed(const Column& column);
  Outcome MapBuiltIn(const Column& column);
  // False: it is of another type.
  bool MapExtension(std::string_view name);
  bool MapGeometric(uint32_t type_oid);
  bool MapText(uint32_t type_oid);
  bool MapNumber(uint32_t type_oid);
  Outcome MapArray(const Column& column);
  void MapNumeric(int32_t modifier);
  void MapBits(uint32_t type_oid, int32_t modifier);
  void MapTime(uint32_t type_oid);
  Outcome MapUnknown();
  void Set(Kind kind, Schema schema);
  Schema BinarySchema() const;
  Schema PlainDecimalSchema(int32_t scale) const;

  absl::Status ReadText(std::string_view text, TextArena& arena,
                        Value& value) const;
  absl::Status ReadNumber(std::string_view text, Value& value) const;
  absl::Status ReadNumeric(std::string_view text, TextArena& arena,
                           Value& value) const;
  absl::Status ReadMoney(std::string_view text, TextArena& arena,
                         Value& value) const;
  absl::Status ReadBytes(std::string_view text, TextArena& arena,
                         Value& value) const;
  void PutBinary(std::string_view bytes, TextArena& arena, Value& value) const;
  void PutDecimal(const Decimal& decimal, TextArena& arena, Value& value) const;
  absl::Status ReadBits(std::string_view text, TextArena& arena,
                        Value& value) const;
  absl::Status ReadDate(std::string_view text, TextArena& arena,
                        Value& value) const;
  absl::Status ReadTime(std::string_view text, TextArena& arena,
                        Value& value) const;
  absl::Status ReadTimestamp(std::string_view text, TextArena& arena,
                             Value& value) const;
  absl::Status ReadZoned(std::string_view text, TextArena& arena,
                         Value& value) const;
  absl::Status ReadInterval(std::string_view text, TextArena& arena,
                            Value& value) const;
  absl::Status ReadHstore(std::string_view text, TextArena& arena,
                          Value& value) const;
  absl::Status ReadGeometric(std::string_view text, TextArena& arena,
                             Value& value) const;
  void ReadGeometry(std::string_view text, TextArena& arena,
                    Value& value) const;
  absl::Status ReadVector(std::string_view text, Value& value) const;
  absl::Status ReadArray(std::string_view text, TextArena& arena,
                         Value& value) const;
  absl::Status ReadNestedArray(size_t size, Value& value) const;

  const Options options_;
  Kind kind_ = Kind::kText;
  SchemaRef schema_;
  int precision_ = 6;       // of a time
  bool has_scale_ = false;  // of a numeric
  int32_t scale_ = 0;       // likewise
  Shape shape_ = Shape::kBox;
  bool is_in_array_ = false;
  std::string_view zero_;  // what Debezium takes for NULL in NOT NULL
  std::unique_ptr<ColumnType> element_;  // of an array
};

}  // namespace walpost::debezium
