#include "postgres/table_scan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/byte_reader.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/fields.h"
#include "postgres/publication.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr size_t kPortionBytes = size_t{4} << 20;
constexpr size_t kMostRows = 2'000;
constexpr char kCursor[] = "walpost_scan";

void AppendBigEndian(std::string& bytes, uint32_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift & 0xFF);
  }
}

}  // namespace

TableScan::TableScan(Connection& connection, TableOptions table,
                     TableFilter filter)
    : connection_(connection),
      table_(std::move(table)),
      filter_(std::move(filter)) {}

asio::awaitable<absl::Status> TableScan::Open() {
  absl::Status status = co_await ReadSchema();
  if (status.ok()) status = MakeConditions();
  if (!status.ok()) co_return status;
  std::vector<std::string> columns;
  for (const pgoutput::ColumnSchema& column : schema_.columns) {
    columns.push_back(QuoteName(column.name));
  }
  const std::string sql =
      fmt::format("DECLARE {} NO SCROLL CURSOR FOR SELECT {} FROM {}{}{}",
                  kCursor, absl::StrJoin(columns, ", "),
                  QuoteQualifiedName(table_.name), conditions_, order_);
  absl::StatusOr<QueryRows> declared = co_await connection_.Execute(sql);
  co_return declared.status();
}

asio::awaitable<absl::Status> TableScan::ReadSchema() {
  const size_t dot = table_.name.find('.');
  schema_.schema = table_.name.substr(0, dot);
  schema_.name = table_.name.substr(dot + 1);
  const std::string sql = fmt::format(
      "SELECT a.attname, a.atttypid FROM pg_catalog.pg_attribute a "
      "JOIN pg_catalog.pg_class c ON c.oid = a.attrelid "
      "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "WHERE n.nspname = {} AND c.relname = {} AND a.attnum > 0 "
      "AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum",
      connection_.Literal(schema_.schema), connection_.Literal(schema_.name));
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  for (size_t i = 0; i < rows->size(); ++i) {
    const auto oid = static_cast<uint32_t>(std::stoul(rows->Text(i, 1)));
    pgoutput::ColumnSchema column;
    column.name = rows->Text(i, 0);
    column.type_oid = oid;
    schema_.columns.push_back(std::move(column));
  }
  if (schema_.columns.empty()) {
    co_return absl::FailedPreconditionError(fmt::format(
        "table {} does not exist: correct outbox.tables", table_.name));
  }
  co_return absl::OkStatus();
}

absl::StatusOr<std::string> TableScan::ColumnOf(
    std::string_view field, std::string_view wanted_for) const {
  const FieldSource* source = &table_.columns.timestamp;
  std::span<const std::string_view> usual;
  const size_t index = FindField(field);
  if (index < kFields.size()) {
    source = &(table_.columns.*kFields[index].source);
    usual = kFields[index].usual_names;
  }
  if (source->kind == FieldSource::Kind::kColumn &&
      schema_.FindColumn(source->text)) {
    return QuoteName(source->text);
  }
  if (source->kind == FieldSource::Kind::kUsual) {
    for (const std::string_view name : usual) {
      if (schema_.FindColumn(name)) return QuoteName(name);
    }
  }
  return absl::FailedPreconditionError(
      fmt::format("table {} has no column for {}, which {} needs: set "
                  "outbox.tables.columns.{}, or use --where and --order-by",
                  table_.name, field, wanted_for, field));
}

absl::Status TableScan::MakeConditions() {
  std::vector<std::string> conditions;
  if (!filter_.since.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const std::string column,
                             ColumnOf("timestamp", "--since"));
    conditions.push_back(
        fmt::format("{} >= {}", column, connection_.Literal(filter_.since)));
  }
  if (!filter_.ids.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const std::string column, ColumnOf("id", "--ids"));
    std::vector<std::string> literals;
    for (const std::string& id : filter_.ids) {
      literals.push_back(connection_.Literal(id));
    }
    conditions.push_back(
        fmt::format("{} IN ({})", column, absl::StrJoin(literals, ", ")));
  }
  if (!filter_.aggregate_id.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const std::string column,
                             ColumnOf("aggregate_id", "--aggregate"));
    conditions.push_back(fmt::format(
        "{}::text = {}", column, connection_.Literal(filter_.aggregate_id)));
  }
  if (!filter_.where.empty()) {
    conditions.push_back(fmt::format("({})", filter_.where));
  }
  if (!conditions.empty()) {
    conditions_ = " WHERE " + absl::StrJoin(conditions, " AND ");
  }
  const std::string& order_by =
      filter_.order_by.empty() ? table_.order_by : filter_.order_by;
  if (!order_by.empty()) {
    if (!schema_.FindColumn(order_by)) {
      return absl::FailedPreconditionError(
          fmt::format("table {} has no column {}: correct --order-by, or "
                      "outbox.tables.order_by",
                      table_.name, order_by));
    }
    order_ = " ORDER BY " + QuoteName(order_by);
    return absl::OkStatus();
  }
  WALPOST_ASSIGN_OR_RETURN(const std::string id, ColumnOf("id", "the order"));
  order_ = " ORDER BY " + id;
  return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<size_t>> TableScan::Fetch() {
  rows_.reset();
  const std::string sql = fmt::format("FETCH {} FROM {}", portion_, kCursor);
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  rows_ = *std::move(rows);
  size_t size = 1;
  for (size_t row = 0; row < rows_->size(); ++row) {
    for (size_t column = 0; column < schema_.columns.size(); ++column) {
      const auto value = rows_->Get(row, column);
      size += value ? value->size() : 0;
    }
  }
  // The next portion may have larger rows: grow slowly, shrink at once.
  const size_t fitting = rows_->size() * kPortionBytes / size;
  portion_ = std::clamp(std::min(fitting, 2 * portion_), size_t{1}, kMostRows);
  co_return rows_->size();
}

const pgoutput::TupleData& TableScan::Row(size_t index) {
  bytes_.clear();
  AppendBigEndian(bytes_, static_cast<uint32_t>(schema_.columns.size()), 2);
  for (size_t column = 0; column < schema_.columns.size(); ++column) {
    const auto value = rows_->Get(index, column);
    if (!value) {
      bytes_ += 'n';
      continue;
    }
    bytes_ += 't';
    AppendBigEndian(bytes_, static_cast<uint32_t>(value->size()), 4);
    bytes_ += *value;
  }
  ByteReader reader(bytes_);
  WALPOST_CHECK(pgoutput::TupleData::Read(reader, tuple_));
  return tuple_;
}

asio::awaitable<absl::Status> TableScan::Close() {
  rows_.reset();
  const std::string sql = fmt::format("CLOSE {}", kCursor);
  absl::StatusOr<QueryRows> closed = co_await connection_.Execute(sql);
  co_return closed.status();
}

asio::awaitable<absl::StatusOr<uint64_t>> TableScan::Count() {
  const std::string sql =
      fmt::format("SELECT count(*) FROM {}{}", QuoteQualifiedName(table_.name),
                  conditions_);
  absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  co_return std::stoull(rows->Text(0, 0));
}

}  // namespace walpost
