#include "postgres/tables/table_scan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "base/read_refusal.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/base_types.h"
#include "outbox/field_column.h"
#include "outbox/row_order.h"
#include "pgoutput/type_oid.h"
#include "postgres/catalog/table_columns.h"
#include "postgres/catalog/transaction_id_column.h"
#include "postgres/connect/quote.h"
#include "postgres/tables/since.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr char kCursor[] = "walpost_scan";
// From sql/outbox.sql.
constexpr std::string_view kCreatedAt = "created_at";

// The values of these are compared as such, which an index can find; all others
// by the text that is sent.
bool IsComparedByValue(uint32_t type_oid) {
  return pgoutput::IsInteger(type_oid) || type_oid == pgoutput::kUuidOid;
}

// An index finds more of these than have the same text: the collation may
// ignore case, and char(n) ignores blanks.
bool IsText(uint32_t type_oid) {
  return type_oid == pgoutput::kTextOid || type_oid == pgoutput::kVarcharOid ||
         type_oid == pgoutput::kBpcharOid;
}

// As the server reads them; other spellings of a uuid are not what it writes.
bool IsValueOf(uint32_t type_oid, const std::string& text) {
  if (pgoutput::IsInteger(type_oid)) {
    int64_t number = 0;
    return absl::SimpleAtoi(text, &number);
  }
  if (type_oid != pgoutput::kUuidOid) return true;
  const auto is_hex = [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c)) || c == '-' ||
           c == '{' || c == '}';
  };
  constexpr size_t kDigits = 32;
  return text.size() >= kDigits && std::ranges::all_of(text, is_hex);
}

}  // namespace

TableScan::TableScan(Connection& connection, TableOptions table,
                     TableFilter filter)
    : connection_(connection),
      table_(std::move(table)),
      filter_(std::move(filter)) {}

asio::awaitable<absl::Status> TableScan::Open() {
  WALPOST_CO_ASSIGN_OR_RETURN(
      schema_, co_await ReadTableSchema(connection_, table_.name));
  absl::Status status = MakeConditions();
  if (status.ok()) status = co_await MakeOrder();
  if (!status.ok()) co_return status;
  // Rows hidden by a policy would count as missing.
  const std::string see_all = "SET LOCAL row_security = off";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows set,
                              co_await connection_.Execute(see_all));
  const std::string table = QuoteQualifiedName(table_.name);
  const std::string origin =
      filter_.with_origin ? ", " + IsOfOtherOriginSql(table) : "";
  const std::string sql = fmt::format(
      "DECLARE {} NO SCROLL CURSOR FOR SELECT {}{} FROM {}{}{}", kCursor,
      ColumnList(schema_), origin, table, conditions_, order_);
  absl::StatusOr<QueryRows> declared = co_await Execute(sql);
  co_return declared.status();
}

absl::StatusOr<std::string> TableScan::ColumnOf(
    std::string_view field, std::string_view wanted_for) const {
  if (const auto column = ColumnOfField(table_, schema_, field)) {
    return QuoteName(*column);
  }
  return absl::FailedPreconditionError(
      fmt::format("table {} has no column for {}, which {} needs: set "
                  "outbox.tables.columns.{}, or use --where and --order-by",
                  table_.name, field, wanted_for, field));
}

// Without a mapped column, uses the one of our own table: mapping it would
// change the timestamps of all records.
absl::StatusOr<std::string> TableScan::TimeColumn() const {
  if (const auto column = ColumnOfField(table_, schema_, "timestamp")) {
    return *column;
  }
  const auto index = schema_.FindColumn(kCreatedAt);
  if (index && pgoutput::IsTimestamp(schema_.columns[*index].type_oid)) {
    return std::string(kCreatedAt);
  }
  return absl::FailedPreconditionError(fmt::format(
      "table {} has no column that --since could go by: name one in "
      "outbox.tables.columns.timestamp (created_at needs no "
      "naming), or use --where",
      table_.name));
}

absl::StatusOr<std::string> TableScan::Since() const {
  WALPOST_ASSIGN_OR_RETURN(const std::string name, TimeColumn());
  std::string since = SinceSql(connection_, filter_.since);
  const size_t index = *schema_.FindColumn(name);
  if (pgoutput::IsInteger(schema_.columns[index].type_oid)) {
    since = fmt::format("(extract(epoch FROM {}) * 1000)::bigint", since);
  }
  return fmt::format("{} >= {}", QuoteName(name), since);
}

// A row without an id may belong to any transaction.
absl::StatusOr<std::string> TableScan::FromTransaction() const {
  const std::string& name = table_.state.transaction_id;
  const std::optional<size_t> column = schema_.FindColumn(name);
  if (!column || schema_.columns[*column].type_oid != kXid8Oid) {
    return absl::FailedPreconditionError(
        fmt::format("table {} has no column {} of type xid8: {} or correct "
                    "outbox.tables.state.transaction_id",
                    table_.name, name, AddTransactionIdSql(table_)));
  }
  return fmt::format("({0} >= '{1}'::xid8 OR {0} IS NULL)", QuoteName(name),
                     filter_.from_transaction);
}

absl::StatusOr<std::string> TableScan::IdCondition() const {
  WALPOST_ASSIGN_OR_RETURN(const std::string column, ColumnOf("id", "--ids"));
  const std::optional<std::string> name = ColumnOfField(table_, schema_, "id");
  const uint32_t type_oid =
      schema_.columns[*schema_.FindColumn(*name)].type_oid;
  std::vector<std::string> literals;
  for (const std::string& id : filter_.ids) {
    const bool is_of_another =
        filter_.has_ids_of_others && !IsValueOf(type_oid, id);
    if (!is_of_another) literals.push_back(connection_.Literal(id));
  }
  if (literals.empty()) return "false";
  return IsOneOf(column, type_oid, absl::StrJoin(literals, ", "));
}

std::string TableScan::IsOneOf(const std::string& column, uint32_t type_oid,
                               const std::string& literals) const {
  const std::string by_value = fmt::format("{} IN ({})", column, literals);
  if (IsComparedByValue(type_oid)) return by_value;
  const std::string by_text =
      fmt::format("{} IN ({})", OutputTextSql(column), literals);
  return IsText(type_oid) ? by_value + " AND " + by_text : by_text;
}

absl::Status TableScan::MakeConditions() {
  std::vector<std::string> conditions;
  if (!filter_.since.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const std::string since, Since());
    conditions.push_back(since);
  }
  if (!filter_.ids.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const std::string ids, IdCondition());
    conditions.push_back(ids);
  }
  if (!filter_.aggregate_id.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const std::string column,
                             ColumnOf("aggregate_id", "--aggregate"));
    const std::string name = *ColumnOfField(table_, schema_, "aggregate_id");
    const uint32_t type = schema_.columns[*schema_.FindColumn(name)].type_oid;
    const std::string literal = connection_.Literal(filter_.aggregate_id);
    conditions.push_back(IsValueOf(type, filter_.aggregate_id)
                             ? IsOneOf(column, type, literal)
                             : "false");
  }
  if (filter_.from_transaction > 0 && !table_.state.transaction_id.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const std::string since, FromTransaction());
    conditions.push_back(since);
  }
  if (!filter_.where.empty()) {
    conditions.push_back(fmt::format("({})", filter_.where));
  }
  if (!conditions.empty()) {
    conditions_ = " WHERE " + absl::StrJoin(conditions, " AND ");
  }
  return absl::OkStatus();
}

asio::awaitable<absl::Status> TableScan::MakeOrder() {
  const std::string sql = fmt::format(
      "SELECT a.attname, {}, a.attidentity <> '' OR "
      "coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', "
      "false) FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d "
      "ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = "
      "{}::regclass AND a.attnum > 0 AND NOT a.attisdropped AND "
      "a.attgenerated <> 'v' ORDER BY a.attnum",
      BaseTypeSql("a.atttypid"),
      connection_.Literal(QuoteQualifiedName(table_.name)));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await Execute(sql));
  std::vector<OrderColumn> columns;
  for (size_t i = 0; i < rows.size(); ++i) {
    columns.push_back({rows.Text(i, 0),
                       static_cast<uint32_t>(rows.Unsigned(i, 1)),
                       rows.Bool(i, 2)});
  }
  const absl::StatusOr<RowOrder> order =
      ChooseRowOrder(table_, columns, filter_.order_by);
  if (!order.ok()) co_return order.status();
  order_ = " ORDER BY " + OrderBySql(*order);
  order_columns_ = {order->column};
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<QueryRows>> TableScan::Execute(std::string sql) {
  std::string attempted = fmt::format("reading table {}", table_.name);
  if (!filter_.since.empty()) {
    attempted += fmt::format(" with --since {} (a time, or 1h: an hour ago)",
                             filter_.since);
  }
  if (!filter_.ids.empty()) attempted += " with --ids";
  if (!filter_.where.empty()) {
    attempted += fmt::format(" with --where {}", filter_.where);
  }
  absl::StatusOr<QueryRows> rows =
      co_await connection_.Execute(std::move(sql), std::move(attempted));
  if (!rows.ok() && SqlstateOf(rows.status()) == kSqlstatePrivilege) {
    co_return WithPrivilegeRemedy(rows.status(),
                                  QuoteQualifiedName(table_.name),
                                  PQuser(connection_.raw()), "SELECT");
  }
  co_return rows;
}

asio::awaitable<absl::StatusOr<size_t>> TableScan::Fetch() {
  if (is_fetching_) {
    WALPOST_CO_RETURN_IF_ERROR(co_await ReadPortion());
    if (!rows_.empty()) co_return rows_.size();
  }
  const std::string sql =
      fmt::format("FETCH {} FROM {}", fetch_sizer_.rows(), kCursor);
  WALPOST_CO_RETURN_IF_ERROR(co_await connection_.StartRows(sql));
  is_fetching_ = true;
  WALPOST_CO_RETURN_IF_ERROR(co_await ReadPortion());
  co_return rows_.size();
}

asio::awaitable<absl::Status> TableScan::ReadPortion() {
  rows_.clear();
  size_t bytes = 0;
  while (is_fetching_ && bytes < FetchSizer::kBytes) {
    absl::StatusOr<std::optional<QueryRows>> row =
        co_await connection_.NextRow();
    is_fetching_ = row.ok() && *row;
    if (!row.ok()) co_return row.status();
    if (!is_fetching_) break;
    bytes += (*row)->bytes();
    rows_.push_back(**std::move(row));
  }
  fetch_sizer_.OnRead(rows_.size(), bytes);
  co_return absl::OkStatus();
}

const pgoutput::TupleData& TableScan::Row(size_t index) {
  return tuple_.Read(rows_[index], schema_.columns.size());
}

RowOrigin TableScan::Origin(size_t index) const {
  return RowOriginOf(rows_[index].Get(0, schema_.columns.size()));
}

asio::awaitable<absl::Status> TableScan::Close() {
  while (is_fetching_) WALPOST_CO_RETURN_IF_ERROR(co_await ReadPortion());
  rows_.clear();
  const std::string sql = fmt::format("CLOSE {}", kCursor);
  absl::StatusOr<QueryRows> closed = co_await connection_.Execute(sql);
  co_return closed.status();
}

asio::awaitable<absl::StatusOr<uint64_t>> TableScan::Count() {
  const std::string sql =
      fmt::format("SELECT count(*) FROM {}{}", QuoteQualifiedName(table_.name),
                  conditions_);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await Execute(sql));
  co_return rows.Unsigned(0, 0);
}

asio::awaitable<absl::StatusOr<bool>> TableScan::HasUnknownOrigin() {
  const std::string table = QuoteQualifiedName(table_.name);
  const std::string sql = fmt::format(
      "SELECT EXISTS (SELECT FROM (SELECT {} AS is_other FROM {}{}) origins "
      "WHERE is_other IS NULL)",
      IsOfOtherOriginSql(table), table, conditions_);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await Execute(sql));
  co_return rows.Bool(0, 0);
}

}  // namespace walpost
