// TableMapper: rows of one outbox table -> events.
//
// Bound to a relation as the server described it: columns are found by name,
// once, when the Relation message arrives; a new Relation message needs a new
// mapper. Owned by the TransactionAssembler.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/column_json.h"
#include "outbox/event.h"
#include "outbox/fields.h"
#include "outbox/options.h"
#include "pgoutput/relation_schema.h"
#include "pgoutput/tuple.h"

namespace walpost {

class TableMapper {
 public:
  // `references` are the names whose values the route needs, each a field or
  // a column (Route::references()).
  //
  // kFailedPrecondition: a configured column is not in the table (or is not
  // published); names column, table and the key to change.
  static absl::StatusOr<std::unique_ptr<TableMapper>> Create(
      const TableOptions& options, const pgoutput::RelationSchema& relation,
      std::span<const std::string> references);

  // Whether records of this table have a key, and so an order among them.
  bool has_key() const;

  // Fills the fields of `event` that come from the row. Its views live until
  // the next Map, and as long as the bytes of `row` and this mapper.
  //
  // kDataLoss: the row does not have the columns of the relation.
  // kInvalidArgument: a value cannot be used (names the column): this event
  // cannot be delivered.
  absl::Status Map(const pgoutput::TupleData& row, Event& event);

 private:
  // Where a value comes from: a column, a constant, or (neither) nothing.
  struct Binding {
    std::optional<size_t> column;
    std::optional<std::string> constant;
  };

  explicit TableMapper(const pgoutput::RelationSchema& relation);

  absl::StatusOr<size_t> RequireColumn(std::string_view column,
                                       std::string_view why) const;
  absl::StatusOr<Binding> Bind(
      const FieldSource& source, std::string_view field,
      std::span<const std::string_view> usual_names) const;
  absl::StatusOr<Binding> BindReference(std::string_view name) const;
  absl::Status ReadRow(const pgoutput::TupleData& row);
  absl::Status CheckTimestamp() const;
  absl::Status CheckPayload(const TableOptions& options) const;
  // The payload made of value_columns; nullopt when none are configured.
  Value MakeJsonValue();
  absl::Status DecodeByteaColumns();
  absl::Status MapTimestamp(Event& event) const;
  Value Get(const Binding& binding) const;

  pgoutput::RelationSchema relation_;
  std::array<Binding, kFields.size()> fields_;
  Binding timestamp_;
  std::vector<Binding> references_;
  std::vector<size_t> value_columns_;

  struct ByteaColumn {
    size_t column;
    std::string bytes;
  };
  std::vector<ByteaColumn> bytea_columns_;

  // Of the current row.
  std::vector<Value> values_;
  std::vector<Value> reference_values_;
  ColumnJson json_value_;
};

}  // namespace walpost
