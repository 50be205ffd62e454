#include "outbox/table_mapper.h"

#include <algorithm>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "outbox/base_types.h"
#include "outbox/column_decoder.h"
#include "pgoutput/type_oid.h"

namespace walpost {

TableMapper::TableMapper(const pgoutput::RelationSchema& relation)
    : relation_(relation), values_(relation.columns.size() + 1) {
  for (size_t i = 0; i < relation_.columns.size(); ++i) {
    if (relation_.columns[i].type_oid == pgoutput::kByteaOid) {
      bytea_columns_.push_back({i, {}});
    }
  }
}

absl::StatusOr<std::unique_ptr<TableMapper>> TableMapper::Create(
    const TableOptions& options, const pgoutput::RelationSchema& relation,
    std::span<const std::string> references) {
  auto mapper = std::unique_ptr<TableMapper>(new TableMapper(relation));
  for (size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].name == "payload") {
      WALPOST_ASSIGN_OR_RETURN(mapper->fields_[i],
                               mapper->BindPayload(options));
      continue;
    }
    auto usual_names = kFields[i].usual_names;
    if (options.debezium) {
      // A column `headers` is a column like others there.
      if (kFields[i].name == "headers") usual_names = {};
      const bool has_debeziums = kFields[i].name.starts_with("aggregate_");
      if (has_debeziums) std::ranges::reverse(usual_names);
    }
    WALPOST_ASSIGN_OR_RETURN(mapper->fields_[i],
                             mapper->Bind(options.columns.*kFields[i].source,
                                          kFields[i].name, usual_names));
  }
  WALPOST_ASSIGN_OR_RETURN(
      mapper->timestamp_,
      mapper->Bind(options.columns.timestamp, "timestamp", {}));
  if (!options.debezium) {
    WALPOST_RETURN_IF_ERROR(mapper->CheckTimestamp());
  }
  WALPOST_RETURN_IF_ERROR(mapper->CheckHeaders());
  WALPOST_RETURN_IF_ERROR(mapper->CheckPayload(options));
  for (const std::string& name : references) {
    if (mapper->IsLeftOut(options, name)) {
      mapper->references_.push_back(mapper->null_slot());
      continue;
    }
    WALPOST_ASSIGN_OR_RETURN(const Slot slot, mapper->BindReference(name));
    mapper->references_.push_back(slot);
  }
  mapper->reference_values_.resize(references.size());
  for (const std::string& column : options.value_columns) {
    WALPOST_ASSIGN_OR_RETURN(
        const size_t index,
        mapper->RequireColumn(column, "outbox.tables.value.columns"));
    mapper->value_columns_.push_back(index);
  }
  if (options.debezium) {
    WALPOST_RETURN_IF_ERROR(mapper->BindDebezium(options));
  }
  for (const size_t column : mapper->UsedColumns()) {
    if (relation.columns[column].type_oid == kDroppedTypeOid) {
      mapper->dropped_types_.push_back(column);
    }
  }
  return mapper;
}

// If the value is made of columns, the payload may be too large to be
// published.
absl::StatusOr<TableMapper::Slot> TableMapper::BindPayload(
    const TableOptions& options) {
  const auto& field = kFields[FindField("payload")];
  const FieldSource& source = options.columns.payload;
  const bool is_unused = !options.value_columns.empty() &&
                         source.kind == FieldSource::Kind::kUsual &&
                         relation_.FindUnsent(field.usual_names.front());
  if (is_unused) return null_slot();
  return Bind(source, field.name, field.usual_names);
}

// The column of a placement that need not be there.
bool TableMapper::IsLeftOut(const TableOptions& options,
                            const std::string& reference) const {
  if (!options.debezium || relation_.FindColumn(reference)) return false;
  using debezium::Placement;
  return options.debezium->missing_columns ==
             debezium::MissingColumns::kIgnore &&
         FindField(reference) == kFields.size() &&
         std::ranges::any_of(
             options.debezium->placements, [&](const Placement& placement) {
               return placement.place == Placement::Place::kPartition &&
                      placement.column == reference;
             });
}

// Debezium's event router takes a record without one for an error.
absl::Status TableMapper::CheckDebeziumFields(
    const TableOptions& options) const {
  for (size_t i = 0; i < kFields.size(); ++i) {
    const auto& [name, source, value, usual_names] = kFields[i];
    const FieldSource::Kind kind = (options.columns.*source).kind;
    const bool is_needed =
        name == "id" || name == "aggregate_type" || name == "aggregate_id";
    if (!is_needed || kind != FieldSource::Kind::kUsual ||
        fields_[i] != null_slot()) {
      continue;
    }
    return absl::FailedPreconditionError(fmt::format(
        "table {} has no column '{}', which records with records.profile: "
        "debezium are made from: set outbox.tables.columns.{} (a column, or "
        "null)",
        relation_.QualifiedName(),
        usual_names[1].empty() ? usual_names[0] : usual_names[1], name));
  }
  return absl::OkStatus();
}

absl::Status TableMapper::CheckTimestamp() const {
  if (!IsColumn(timestamp_)) return absl::OkStatus();
  const pgoutput::ColumnSchema& column = relation_.columns[timestamp_];
  if (IsTimestampType(column.type_oid)) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "column '{}' of {}, which outbox.tables.columns.timestamp names, is not "
      "one of timestamp, timestamptz or an integer of milliseconds",
      column.name, relation_.QualifiedName()));
}

// Otherwise every row with headers would stop the flow.
absl::Status TableMapper::CheckHeaders() const {
  const Slot headers = fields_[FindField("headers")];
  if (!IsColumn(headers)) return absl::OkStatus();
  const pgoutput::ColumnSchema& column = relation_.columns[headers];
  if (pgoutput::CanHoldJson(column.type_oid) ||
      column.type_oid == kDroppedTypeOid) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(fmt::format(
      "column '{}' of {}, which has the headers, is of a type whose text is "
      "not a JSON object: make it json, jsonb or text, or set "
      "outbox.tables.columns.headers (another column, or null)",
      column.name, relation_.QualifiedName()));
}

absl::Status TableMapper::RefuseUnsent(std::string_view column,
                                       std::string_view field) const {
  const pgoutput::UnsentColumn* unsent = relation_.FindUnsent(column);
  if (unsent == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("column '{}' of {}, which is used for {}, {}", column,
                  relation_.QualifiedName(), field, unsent->why));
}

// Otherwise a wrong name would publish every event as a tombstone.
absl::Status TableMapper::CheckPayload(const TableOptions& options) const {
  if (fields_[FindField("payload")] != null_slot() ||
      !options.value_columns.empty() ||
      options.columns.payload.kind == FieldSource::Kind::kAbsent) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(fmt::format(
      "table {} has no column 'payload': set outbox.tables.columns.payload (a "
      "column, {{constant: ...}} or null) or outbox.tables.value.columns",
      relation_.QualifiedName()));
}

bool TableMapper::Maps(std::string_view field) const {
  return fields_[FindField(field)] != null_slot();
}

bool TableMapper::has_key() const { return Maps("aggregate_id"); }

absl::StatusOr<TableMapper::Slot> TableMapper::RequireColumn(
    std::string_view column, std::string_view why) const {
  if (const auto index = relation_.FindColumn(column)) return *index;
  WALPOST_RETURN_IF_ERROR(RefuseUnsent(column, why));
  return absl::FailedPreconditionError(fmt::format(
      "table {} has no published column '{}', which {} names: correct the "
      "configuration, or add the column to the table or the publication",
      relation_.QualifiedName(), column, why));
}

absl::StatusOr<TableMapper::Slot> TableMapper::Bind(
    const FieldSource& source, std::string_view field,
    std::span<const std::string_view> usual_names) {
  switch (source.kind) {
    case FieldSource::Kind::kUsual:
      for (const std::string_view name : usual_names) {
        if (const auto column = relation_.FindColumn(name)) return *column;
        WALPOST_RETURN_IF_ERROR(
            RefuseUnsent(name, fmt::format("outbox.tables.columns.{}", field)));
      }
      return null_slot();
    case FieldSource::Kind::kColumn:
      return RequireColumn(source.text,
                           fmt::format("outbox.tables.columns.{}", field));
    case FieldSource::Kind::kConstant:
      values_.emplace_back(constants_.emplace_back(source.text));
      return values_.size() - 1;
    case FieldSource::Kind::kAbsent:
      return null_slot();
  }
  return null_slot();
}

absl::StatusOr<TableMapper::Slot> TableMapper::BindReference(
    std::string_view name) const {
  const size_t field = FindField(name);
  if (field < kFields.size() && fields_[field] != null_slot()) {
    return fields_[field];
  }
  if (const auto column = relation_.FindColumn(name)) return *column;
  WALPOST_RETURN_IF_ERROR(RefuseUnsent(name, "the route"));
  if (field < kFields.size()) {
    return absl::FailedPreconditionError(fmt::format(
        "the route refers to '{0}', but table {1} has no column for it: set "
        "outbox.tables.columns.{0} (a column, or {{constant: ...}})",
        name, relation_.QualifiedName()));
  }
  return RequireColumn(name, "the route");
}

std::set<size_t> TableMapper::UsedColumns() const {
  std::set<size_t> used(fields_.begin(), fields_.end());
  used.insert(references_.begin(), references_.end());
  used.insert(value_columns_.begin(), value_columns_.end());
  used.insert(placed_columns_.begin(), placed_columns_.end());
  std::erase_if(used, [this](size_t slot) { return !IsColumn(slot); });
  return used;
}

void TableMapper::RequireUtf8() {
  text_columns_.clear();
  for (const size_t column : UsedColumns()) {
    if (relation_.columns[column].type_oid != pgoutput::kByteaOid) {
      text_columns_.push_back(column);
    }
  }
}

absl::Status TableMapper::CheckTexts() const {
  for (const size_t column : text_columns_) {
    if (!values_[column] || IsUtf8(*values_[column])) continue;
    return Undeliverable(
        kReasonTextNotUtf8,
        fmt::format("column '{}' of {} is not text in UTF-8, and the database "
                    "has the encoding SQL_ASCII, which takes any bytes",
                    relation_.columns[column].name, relation_.QualifiedName()));
  }
  return absl::OkStatus();
}

// The type may have been a domain over bytea.
absl::Status TableMapper::CheckDropped() const {
  for (const size_t column : dropped_types_) {
    if (!values_[column] || !values_[column]->starts_with("\\x")) continue;
    return Undeliverable(
        kReasonColumnUnreadable,
        fmt::format("column '{}' of {} had a type that has been dropped, so it "
                    "is not known whether its value is text or bytea",
                    relation_.columns[column].name, relation_.QualifiedName()));
  }
  return absl::OkStatus();
}

absl::Status TableMapper::Map(const pgoutput::TupleData& row, Event& event) {
  WALPOST_RETURN_IF_ERROR(ReadRow(row));
  old_key_.clear();
  return MapValues(event);
}

absl::Status TableMapper::MapMoved(const pgoutput::TupleData& old_row,
                                   const pgoutput::TupleData& row,
                                   Event& event) {
  WALPOST_RETURN_IF_ERROR(ReadRow(old_row));
  old_key_.clear();
  for (const size_t column : key_columns_) {
    old_key_.push_back({relation_.columns[column].name, values_[column]});
  }
  // The old row is whole with REPLICA IDENTITY FULL.
  WALPOST_RETURN_IF_ERROR(ReadRow(row, /*keeps_unchanged=*/true));
  return MapValues(event);
}

bool TableMapper::HasMoved(const pgoutput::TupleData& old_row,
                           const pgoutput::TupleData& row) const {
  std::vector<Value> before(column_count());
  old_row.ForEach([&](size_t i, const pgoutput::ColumnValue& value) {
    if (i < before.size() && !value.is_null()) before[i] = value.bytes;
  });
  bool has_moved = false;
  row.ForEach([&](size_t i, const pgoutput::ColumnValue& value) {
    const bool is_key = std::ranges::count(key_columns_, i) > 0;
    const bool is_sent = value.kind == pgoutput::ValueKind::kText;
    has_moved |= is_key && is_sent && before[i] != value.bytes;
  });
  return has_moved;
}

absl::Status TableMapper::MapValues(Event& event) {
  absl::Status texts = CheckTexts();
  if (texts.ok()) texts = CheckDropped();
  // Before bytea is decoded: both need the text that the server renders.
  const Value json = MakeJsonValue();
  absl::Status encoded;
  if (encoder_) {
    encoded = encoder_->Encode({values_.data(), column_count()}, old_key_,
                               encoded_.parts());
  }
  const absl::Status decoded = DecodeByteaColumns();
  for (size_t i = 0; i < kFields.size(); ++i) {
    event.*kFields[i].value = values_[fields_[i]];
  }
  for (size_t i = 0; i < references_.size(); ++i) {
    reference_values_[i] = values_[references_[i]];
  }
  event.references = reference_values_;
  if (json.has_value()) event.payload = json;
  WALPOST_RETURN_IF_ERROR(texts);
  WALPOST_RETURN_IF_ERROR(decoded);
  if (!encoder_) return MapTimestamp(event);
  event.timestamp = event.commit_time;
  WALPOST_RETURN_IF_ERROR(encoded);
  encoded_.MoveTo(event);
  return absl::OkStatus();
}

absl::Status TableMapper::ReadRow(const pgoutput::TupleData& row,
                                  bool keeps_unchanged) {
  if (row.column_count() != relation_.columns.size()) {
    return absl::DataLossError(
        fmt::format("a row of {} has {} columns, its Relation message had {}",
                    relation_.QualifiedName(), row.column_count(),
                    relation_.columns.size()));
  }
  bool readable = true;
  row.ForEach([&](size_t i, const pgoutput::ColumnValue& value) {
    // Assigned in place: a whole new Value would be copied before its parts
    // are written.
    switch (value.kind) {
      case pgoutput::ValueKind::kText:
        values_[i] = value.bytes;
        return;
      case pgoutput::ValueKind::kNull:
        values_[i].reset();
        return;
      case pgoutput::ValueKind::kUnchanged:
        // An UPDATE leaves large values out that it does not change.
        if (!keeps_unchanged || !values_[i]) {
          values_[i] = debezium::kUnavailableValue;
        }
        readable &= encoder_ != nullptr;
        return;
      case pgoutput::ValueKind::kBinary:
        readable = false;
        return;
    }
  });
  if (!readable) {
    return absl::DataLossError(
        fmt::format("an inserted row of {} has a column that is neither text "
                    "nor NULL, although text was asked for",
                    relation_.QualifiedName()));
  }
  return absl::OkStatus();
}

Value TableMapper::MakeJsonValue() {
  if (value_columns_.empty()) return std::nullopt;
  json_value_.Begin();
  for (const size_t column : value_columns_) {
    json_value_.Add(relation_.columns[column].name,
                    relation_.columns[column].type_oid, values_[column]);
  }
  return json_value_.Finish();
}

absl::Status TableMapper::BindDebezium(const TableOptions& options) {
  WALPOST_RETURN_IF_ERROR(CheckDebeziumFields(options));
  debezium::Table table{relation_.schema, relation_.name, {}};
  for (const pgoutput::ColumnSchema& column : relation_.columns) {
    const bool is_enum = !column.enum_labels.empty() && column.element_oid == 0;
    table.columns.push_back(
        {column.name, is_enum ? pgoutput::kTextOid : column.type_oid,
         column.type_modifier, column.is_not_null,
         column.is_domain ? "" : column.default_expression, column.enum_labels,
         column.type_name, column.element_oid, column.element_name,
         column.has_enum_elements});
  }
  const auto field = [this](std::string_view name) {
    return ColumnOf(fields_[FindField(name)]);
  };
  debezium::Fields fields;
  fields.id = field("id");
  fields.key = field("aggregate_id");
  fields.route = field("aggregate_type");
  fields.payload = field("payload");
  fields.timestamp = ColumnOf(timestamp_);
  WALPOST_ASSIGN_OR_RETURN(
      encoder_, debezium::RowEncoder::Create(*options.debezium, table, fields));
  for (size_t i = 0; i < relation_.columns.size(); ++i) {
    if (relation_.columns[i].key_number > 0) key_columns_.push_back(i);
  }
  std::ranges::sort(key_columns_, {}, [this](size_t column) {
    return relation_.columns[column].key_number;
  });
  for (const debezium::Placement& placement : options.debezium->placements) {
    const auto column = relation_.FindColumn(placement.column);
    if (column) placed_columns_.push_back(*column);
  }
  return absl::OkStatus();
}

absl::Status TableMapper::DecodeByteaColumns() {
  for (ByteaColumn& bytea : bytea_columns_) {
    Value& value = values_[bytea.column];
    if (!value.has_value()) continue;
    const absl::Status status = DecodeBytea(*value, bytea.bytes);
    if (!status.ok()) {
      return Undeliverable(
          kReasonColumnUnreadable,
          fmt::format("column '{}' of {}: bytea is not in hex form",
                      relation_.columns[bytea.column].name,
                      relation_.QualifiedName()));
    }
    value = bytea.bytes;
  }
  return absl::OkStatus();
}

absl::Status TableMapper::MapTimestamp(Event& event) const {
  event.timestamp = event.commit_time;
  if (!IsColumn(timestamp_)) return absl::OkStatus();
  const Value& text = values_[timestamp_];
  if (!text.has_value()) return absl::OkStatus();
  const pgoutput::ColumnSchema& column = relation_.columns[timestamp_];
  absl::StatusOr<WallTime> time = DecodeTimestamp(column.type_oid, *text);
  if (!time.ok()) {
    return Undeliverable(kReasonColumnUnreadable,
                         fmt::format("column '{}' of {}: {}", column.name,
                                     relation_.QualifiedName(),
                                     std::string(time.status().message())));
  }
  event.timestamp = *time;
  return absl::OkStatus();
}

}  // namespace walpost
