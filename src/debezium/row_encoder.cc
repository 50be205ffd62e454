#include "debezium/row_encoder.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "debezium/column_type.h"
#include "debezium/default_value.h"
#include "debezium/event_router.h"
#include "debezium/type_oids.h"
#include "fmt/format.h"

namespace walpost::debezium {
namespace {

constexpr size_t kMaxTopicLength = 249;

bool IsTopicCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

// The topic that Debezium's connector would write a table's changes to, which
// is in the names of its schemas: srv.ob.outbox. With '_' for each character
// that no topic may have (SchemaTopicNamingStrategy).
std::string SourceTopic(std::string_view logical_name, const Table& table) {
  std::string name(logical_name);
  name += '.';
  name += table.schema;
  name += '.';
  name += table.name;
  std::string topic;
  for (const char c : name) {
    const auto byte = static_cast<uint8_t>(c);
    if (IsTopicCharacter(c)) {
      topic += c;
    } else if ((byte & 0xc0) != 0x80) {
      topic += byte >= 0xf0 ? "__" : "_";  // one per unit of UTF-16
    }
  }
  topic.resize(std::min(topic.size(), kMaxTopicLength));
  return topic;
}

// A column that a record has something of.
struct UsedColumn {
  size_t index = 0;  // in the row
  std::unique_ptr<ColumnType> type;
  EventField field;
  Value default_value;  // null: none
};

absl::Status NoValue(const Column& column, std::string_view key) {
  const bool is_never_there = IsLeftOutElement(column.element_oid);
  return absl::FailedPreconditionError(fmt::format(
      "{}: Debezium's records leave out column '{}', because they have nothing "
      "for its type: map a column of another type{}",
      key, column.name,
      is_never_there ? "" : ", or set records.unknown_types: true"));
}

// kUnimplemented: not even missing_columns: ignore leaves such a column out.
absl::Status NotMade(const Column& column, std::string_view key) {
  return absl::UnimplementedError(fmt::format(
      "{}: walpost cannot make what Debezium makes of the type of column '{}': "
      "map a column of another type, or leave it out of {}",
      key, column.name, key));
}

absl::Status NoColumn(const Table& table, std::string_view name,
                      std::string_view key) {
  return absl::FailedPreconditionError(
      fmt::format("{}: table {}.{} has no column '{}': add it, or correct {}",
                  key, table.schema, table.name, name, key));
}

}  // namespace

class RowEncoder::Impl {
 public:
  Impl(const Options& options, const Table& table)
      : options_(options),
        table_(table),
        schema_prefix_(SourceTopic(options.logical_name, table) + "."),
        router_(options, "column") {
    // Pointers to its elements are kept.
    columns_.reserve(table.columns.size());
  }

  absl::Status Init(const Fields& fields) {
    if (!fields.payload) {
      return absl::FailedPreconditionError(
          "outbox.tables.columns.payload: Debezium's event router needs a "
          "payload: map it to a column");
    }
    WALPOST_RETURN_IF_ERROR(EventRouter::CheckPlacements(options_));
    WALPOST_RETURN_IF_ERROR(UseField("id", fields.id, event_.id));
    WALPOST_RETURN_IF_ERROR(UseField("aggregate_id", fields.key, event_.key));
    WALPOST_RETURN_IF_ERROR(
        UseField("aggregate_type", fields.route, event_.route));
    WALPOST_RETURN_IF_ERROR(
        UseField("payload", fields.payload, event_.payload));
    WALPOST_RETURN_IF_ERROR(
        UseField("timestamp", fields.timestamp, event_.timestamp));
    for (const Placement& placement : options_.placements) {
      const EventField* field = nullptr;
      WALPOST_RETURN_IF_ERROR(UsePlacement(placement, field));
      placed_.push_back(field);
    }
    event_.placements = placed_;
    if (router_.has_envelope() && !options_.schema_version.empty()) {
      const Column* column = Find(options_.schema_version);
      if (column == nullptr) {
        return NoColumn(table_, options_.schema_version,
                        "records.schema_version");
      }
      WALPOST_RETURN_IF_ERROR(
          Use(*column, "records.schema_version", event_.version));
    }
    event_.schema_prefix = schema_prefix_;
    event_.schema_suffix = ".Value";
    event_.has_fixed_schemas = true;
    return absl::OkStatus();
  }

  absl::Status Encode(std::span<const Text> row,
                      std::span<const KeyColumn> old_key, Encoded& encoded) {
    arena_.Clear();
    for (UsedColumn& column : columns_) {
      WALPOST_RETURN_IF_ERROR(Read(row[column.index], column));
    }
    event_.old_key = nullptr;
    EventField old_key_field;
    if (!old_key.empty()) {
      WALPOST_RETURN_IF_ERROR(ReadOldKey(old_key, old_key_field));
      event_.old_key = &old_key_field;
    }
    return router_.Route(event_, arena_, encoded);
  }

 private:
  const Column* Find(std::string_view name) const {
    const auto found = std::ranges::find(table_.columns, name, &Column::name);
    return found == table_.columns.end() ? nullptr : &*found;
  }

  absl::Status UseField(std::string_view name, std::optional<size_t> index,
                        const EventField*& field) {
    if (!index) return absl::OkStatus();
    return Use(table_.columns[*index],
               fmt::format("outbox.tables.columns.{}", name), field);
  }

  absl::Status UsePlacement(const Placement& placement,
                            const EventField*& field) {
    const Column* column = Find(placement.column);
    const bool is_ignored = options_.missing_columns == MissingColumns::kIgnore;
    if (column == nullptr) {
      if (is_ignored) return absl::OkStatus();
      return NoColumn(table_, placement.column, "records.placements");
    }
    const absl::Status status = Use(*column, "records.placements", field);
    return is_ignored && !absl::IsUnimplemented(status) ? absl::OkStatus()
                                                        : status;
  }

  // `key`: of the configuration, for the error.
  absl::Status Use(const Column& column, std::string_view key,
                   const EventField*& field) {
    const auto index = static_cast<size_t>(&column - table_.columns.data());
    for (const UsedColumn& used : columns_) {
      if (used.index != index) continue;
      field = &used.field;
      return absl::OkStatus();
    }
    UsedColumn used;
    used.index = index;
    WALPOST_RETURN_IF_ERROR(Describe(column, key, default_texts_, used));
    columns_.push_back(std::move(used));
    field = &columns_.back().field;
    return absl::OkStatus();
  }

  // Fills in everything but the index and the value.
  absl::Status Describe(const Column& column, std::string_view key,
                        TextArena& default_texts, UsedColumn& used) {
    auto type = ColumnType::Of(column, options_);
    if (!type.ok()) return NotMade(column, key);
    used.type = *std::move(type);
    if (used.type == nullptr) return NoValue(column, key);
    used.field.name = column.name;
    used.field.schema = used.type->schema();
    used.default_value = DefaultValueOf(column, *used.type, default_texts);
    if (!used.default_value.is_null()) {
      Schema schema = *used.field.schema;
      schema.default_value = std::make_shared<Value>(used.default_value);
      used.field.schema = std::make_shared<Schema>(std::move(schema));
    }
    used.field.schema_json = router_.SchemaJson(*used.field.schema);
    return absl::OkStatus();
  }

  absl::Status Read(Text text, UsedColumn& column) {
    EventField& field = column.field;
    const absl::Status status = column.type->Read(text, arena_, field.value);
    if (!status.ok()) return router_.FailureOf(field.name, status);
    field.is_null = field.value.is_null();
    if (field.is_null) field.value = column.default_value;
    if (field.value.is_null() && !field.schema->is_optional) {
      return router_.FailureOf(
          field.name,
          "Debezium has no value for it, and its column is NOT NULL");
    }
    return absl::OkStatus();
  }

  absl::Status ReadOldKey(std::span<const KeyColumn> old_key,
                          EventField& field) {
    auto schema = std::make_shared<Schema>(PlainSchema(Schema::Type::kStruct));
    schema->name = schema_prefix_ + "Key";
    Struct key;
    for (const KeyColumn& part : old_key) {
      const Column* column = Find(part.name);
      if (column == nullptr) {
        return router_.FailureOf(part.name, "the table has no such column");
      }
      UsedColumn used;
      const absl::Status status =
          Describe(*column, "the primary key", arena_, used);
      if (!status.ok()) return router_.FailureOf(column->name, status);
      WALPOST_RETURN_IF_ERROR(Read(part.value, used));
      schema->fields.push_back({column->name, used.field.schema});
      key.values.push_back(std::move(used.field.value));
    }
    key.schema = schema;
    field.name = kOldKeyHeader;
    field.schema = std::move(schema);
    field.value = std::move(key);
    return absl::OkStatus();
  }

  const Options options_;
  const Table table_;
  const std::string schema_prefix_;
  TextArena default_texts_;
  std::vector<UsedColumn> columns_;
  std::vector<const EventField*> placed_;
  OutboxEvent event_;
  EventRouter router_;
  TextArena arena_;  // of the current row
};

RowEncoder::RowEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowEncoder::~RowEncoder() = default;

absl::StatusOr<std::unique_ptr<RowEncoder>> RowEncoder::Create(
    const Options& options, const Table& table, const Fields& fields) {
  auto impl = std::make_unique<Impl>(options, table);
  const absl::Status status = impl->Init(fields);
  if (absl::IsUnimplemented(status)) {
    return absl::FailedPreconditionError(status.message());
  }
  WALPOST_RETURN_IF_ERROR(status);
  return std::unique_ptr<RowEncoder>(new RowEncoder(std::move(impl)));
}

absl::Status RowEncoder::Encode(std::span<const Text> row, Encoded& encoded) {
  return impl_->Encode(row, {}, encoded);
}

absl::Status RowEncoder::Encode(std::span<const Text> row,
                                std::span<const KeyColumn> old_key,
                                Encoded& encoded) {
  return impl_->Encode(row, old_key, encoded);
}

}  // namespace walpost::debezium
