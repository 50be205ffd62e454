// TableMapper: rows of one outbox table -> events.
//
// Bound to a relation as the server described it: columns are found by name
// once, when the Relation message arrives; a new Relation message needs a new
// mapper. Owned by the TransactionAssembler.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "debezium/row_encoder.h"
#include "outbox/column_json.h"
#include "outbox/encoded_event.h"
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
  // kFailedPrecondition: a configured column is not in the table (or not
  // published), a column that is used is not sent, or its type does not suit;
  // names column, table and the key to change.
  static absl::StatusOr<std::unique_ptr<TableMapper>> Create(
      const TableOptions& options, const pgoutput::RelationSchema& relation,
      std::span<const std::string> references);

  // True if `field` (outbox/fields.h) has a source, even a constant.
  bool Maps(std::string_view field) const;
  // True if records of this table have a key, and so an order.
  bool has_key() const;

  // From now on, a used text that is not UTF-8 makes its row undeliverable
  // (text_not_utf8): for a database that may hold any bytes. bytea is not text.
  void RequireUtf8();

  // Fills the fields of `event` from the row. Its views are valid until the
  // next Map, and as long as the bytes of `row` and this mapper. With
  // TableOptions::debezium, aggregate_id, payload and headers are those of its
  // record, as Debezium makes them.
  //
  // kDataLoss: the row does not have the columns of the relation.
  // kInvalidArgument: a value cannot be used (names the column): this event
  // cannot be delivered; its other fields identify the row.
  absl::Status Map(const pgoutput::TupleData& row, Event& event);
  // Likewise of an UPDATE that has changed the primary key, with
  // TableOptions::debezium: `old_row` has the old key.
  absl::Status MapMoved(const pgoutput::TupleData& old_row,
                        const pgoutput::TupleData& row, Event& event);
  // True if the row's primary key is not that of `old_row`, which has at least
  // the columns of the replica identity.
  bool HasMoved(const pgoutput::TupleData& old_row,
                const pgoutput::TupleData& row) const;

 private:
  // Source of a value, as an index into values_: the columns in order, then one
  // that is always NULL, then the constants.
  using Slot = size_t;

  explicit TableMapper(const pgoutput::RelationSchema& relation);

  absl::StatusOr<Slot> RequireColumn(std::string_view column,
                                     std::string_view why) const;
  absl::StatusOr<Slot> Bind(const FieldSource& source, std::string_view field,
                            std::span<const std::string_view> usual_names);
  absl::StatusOr<Slot> BindPayload(const TableOptions& options);
  absl::StatusOr<Slot> BindReference(std::string_view name) const;
  // `keeps_unchanged`: a value that `row` leaves out stays what it was.
  absl::Status ReadRow(const pgoutput::TupleData& row,
                       bool keeps_unchanged = false);
  absl::Status MapValues(Event& event);
  absl::Status CheckTexts() const;
  absl::Status CheckDropped() const;
  std::set<size_t> UsedColumns() const;
  bool IsLeftOut(const TableOptions& options,
                 const std::string& reference) const;
  absl::Status CheckDebeziumFields(const TableOptions& options) const;
  absl::Status CheckTimestamp() const;
  absl::Status CheckHeaders() const;
  absl::Status RefuseUnsent(std::string_view column,
                            std::string_view field) const;
  absl::Status CheckPayload(const TableOptions& options) const;
  // The payload made from value_columns; nullopt: none are configured.
  Value MakeJsonValue();
  absl::Status BindDebezium(const TableOptions& options);
  std::optional<size_t> ColumnOf(Slot slot) const {
    return IsColumn(slot) ? std::optional(slot) : std::nullopt;
  }
  absl::Status DecodeByteaColumns();
  absl::Status MapTimestamp(Event& event) const;

  size_t column_count() const { return relation_.columns.size(); }
  bool IsColumn(Slot slot) const { return slot < column_count(); }
  Slot null_slot() const { return column_count(); }

  pgoutput::RelationSchema relation_;
  std::array<Slot, kFields.size()> fields_;
  Slot timestamp_;
  std::vector<Slot> references_;
  std::deque<std::string> constants_;  // texts that values_ views
  std::vector<size_t> value_columns_;

  struct ByteaColumn {
    size_t column;
    std::string bytes;
  };
  std::vector<ByteaColumn> bytea_columns_;

  std::vector<size_t> text_columns_;   // columns that must be UTF-8, in order
  std::vector<size_t> dropped_types_;  // used columns whose type is not known

  // Set if records are made as Debezium makes them.
  std::unique_ptr<debezium::RowEncoder> encoder_;
  EncodedEvent encoded_;
  std::vector<size_t> placed_columns_;
  std::vector<size_t> key_columns_;           // of the primary key, in order
  std::vector<debezium::KeyColumn> old_key_;  // of the current row

  std::vector<Value> values_;  // of the current row
  std::vector<Value> reference_values_;
  ColumnJson json_value_;
};

}  // namespace walpost
