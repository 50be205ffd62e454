// RowEncoder: a row of an outbox table -> key, value and headers of its record,
// byte for byte as Debezium's outbox event router and the converters of Kafka
// Connect make them.
//
//   column's text ──▶ Connect's value and schema ──▶ bytes of a converter
//
// Bound to a table as the catalog describes it; a table with other columns
// needs a new one. Owned by the TableMapper. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "debezium/options.h"

namespace walpost::debezium {

// A column's value as the server prints it; nullopt: NULL.
using Text = std::optional<std::string_view>;

// A column as the catalog describes it.
struct Column {
  std::string name;
  // The built-in type; of a domain, the one behind it. kTextOid for a type that
  // is read as text (an enum, citext).
  uint32_t type_oid = 0;
  int32_t type_modifier = -1;  // pg_attribute.atttypmod; of a domain, its own
  bool is_not_null = false;
  // pg_get_expr of its DEFAULT, such as 'new'::text; empty: none. Debezium
  // reads none of a column whose type is a domain: leave it empty there.
  std::string default_expression;
  // Labels of an enum, or of the elements of an array, in order; empty: it is
  // of another type.
  std::vector<std::string> enum_labels;
  // A type by its name, where the oid does not say it: hstore, citext, ltree,
  // geometry, …; empty: the type is built in.
  std::string type_name;
  // The type of an array's elements, and its name, likewise; 0: it is no array.
  uint32_t element_oid = 0;
  std::string element_name;
  bool has_enum_elements = false;  // also those of a domain over an enum

  friend bool operator==(const Column&, const Column&) = default;
};

struct Table {
  std::string schema;
  std::string name;
  std::vector<Column> columns;

  friend bool operator==(const Table&, const Table&) = default;
};

// Places of the fields among the table's columns (outbox.tables.columns).
struct Fields {
  std::optional<size_t> id;
  std::optional<size_t> key;    // aggregate_id
  std::optional<size_t> route;  // aggregate_type
  std::optional<size_t> payload;
  std::optional<size_t> timestamp;
};

// A column of the primary key, with the value that it had before an UPDATE.
struct KeyColumn {
  std::string_view name;
  Text value;
};

// The header with the key before an UPDATE of the primary key.
inline constexpr std::string_view kOldKeyHeader = "__debezium.oldkey";

// Parts of a record. Views are valid until the next Encode, and as long as the
// row.
struct Encoded {
  struct Header {
    std::string_view name;
    Text value;
  };
  Text key;    // nullopt: no key
  Text value;  // nullopt: a tombstone
  // kOldKeyHeader, if there is an old key; `id`; those of the placements, in
  // order. Names may repeat. The headers of the context stand before `id`.
  std::span<const Header> headers;
  std::optional<int32_t> partition;   // nullopt: the key chooses it
  std::optional<WallTime> timestamp;  // nullopt: the time of the commit
  // The value of the route column, as the event router reads it for the topic;
  // nullopt: no such column.
  Text route;
};

class RowEncoder {
 public:
  // kFailedPrecondition: a field or a placement has no column that Debezium has
  // a value for, or one whose value walpost cannot make; names it and the key
  // of the configuration.
  static absl::StatusOr<std::unique_ptr<RowEncoder>> Create(
      const Options& options, const Table& table, const Fields& fields);
  ~RowEncoder();

  // `row` has one text per column of the table.
  //
  // kInvalidArgument: Debezium's task fails because of this row (its payload
  // cannot be expanded as inferred, a converter does not take the type, ...);
  // names the column and the cause, with a reason code (base/reason_code.h).
  absl::Status Encode(std::span<const Text> row, Encoded& encoded);

  // Likewise, for the row that an UPDATE of the primary key leaves: the first
  // header has the old key. `old_key` in the order of the primary key.
  absl::Status Encode(std::span<const Text> row,
                      std::span<const KeyColumn> old_key, Encoded& encoded);

 private:
  class Impl;
  explicit RowEncoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace walpost::debezium
