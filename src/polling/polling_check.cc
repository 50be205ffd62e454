#include "polling/polling_check.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/table_mapper.h"
#include "pgoutput/type_oid.h"
#include "polling/cursor_sql.h"
#include "polling/index_check.h"
#include "polling/lease_table.h"
#include "postgres/catalog/column_order.h"
#include "postgres/catalog/replica_identity.h"
#include "postgres/catalog/table_columns.h"
#include "postgres/catalog/transaction_id_column.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;
using Strategy = PollingOptions::Strategy;

namespace {

// A column of `state`: its key, and its definition.
struct StateColumn {
  const char* key;
  std::string RowStateOptions::*column;
  const char* definition;
};

constexpr StateColumn kStateColumns[] = {
    {"status", &RowStateOptions::status, "text NOT NULL DEFAULT "},
    {"published_at", &RowStateOptions::published_at, "timestamptz"},
    {"locked_until", &RowStateOptions::locked_until, "timestamptz"},
    {"heartbeat_at", &RowStateOptions::heartbeat_at, "timestamptz"},
    {"attempts", &RowStateOptions::attempts, "integer NOT NULL DEFAULT 0"},
    {"last_error", &RowStateOptions::last_error, "text"},
    {"next_attempt_at", &RowStateOptions::next_attempt_at, "timestamptz"},
    {"transaction_id", &RowStateOptions::transaction_id,
     kTransactionIdDefinition},
};

}  // namespace

void PollingCheck::Add(Severity severity, FindingId id, std::string text,
                       std::string remedy) {
  findings_.push_back({severity, std::move(id),
                       fmt::format("table {}", options_.name), std::move(text),
                       std::move(remedy)});
}

asio::awaitable<absl::StatusOr<Findings>> PollingCheck::Run() {
  sql_name_ = QuoteQualifiedName(options_.name);
  absl::Status status = co_await CheckColumns();
  if (!status.ok()) co_return status;
  if (FirstError(findings_) != nullptr) co_return findings_;
  status = co_await CheckPrivileges();
  if (!status.ok()) co_return status;
  if (FirstError(findings_) != nullptr) co_return findings_;
  CheckOrder();
  CheckLease();
  status = co_await CheckComparisons();
  if (status.ok()) status = co_await CheckNulls();
  if (status.ok()) status = co_await CheckStatusValues();
  if (status.ok()) status = co_await CheckIndexes();
  if (status.ok()) status = co_await CheckCursorTable();
  if (status.ok()) status = co_await CheckLeaseTable();
  if (status.ok()) status = co_await CheckIdentity();
  if (!status.ok()) co_return status;
  if (FirstError(findings_) == nullptr) {
    Add(Severity::kOk, FindingId("polling_ok"), "can be polled");
  }
  co_return findings_;
}

asio::awaitable<absl::Status> PollingCheck::CheckColumns() {
  absl::StatusOr<pgoutput::RelationSchema> schema =
      co_await ReadTableSchema(connection_, options_.name);
  // An error of the server has an SQLSTATE.
  if (absl::IsFailedPrecondition(schema.status()) &&
      SqlstateOf(schema.status()).empty()) {
    Add(Severity::kError, FindingId(kFindingTableMissing), "does not exist",
        options_.pattern.empty()
            ? "correct outbox.tables, or run walpost init -c FILE --admin "
              "CONNINFO"
            : "if it was dropped on purpose, restart walpost");
    co_return absl::OkStatus();
  }
  if (!schema.ok()) co_return schema.status();
  for (const StateColumn& state : kStateColumns) {
    const std::string& column = options_.state.*state.column;
    if (column.empty() || schema->FindColumn(column)) continue;
    std::string definition = state.definition;
    if (state.column == &RowStateOptions::status) {
      definition += connection_.Literal(options_.state.pending);
    }
    Add(Severity::kError, FindingId("state_column_missing"),
        fmt::format("has no column {}, which state.{} names", column,
                    state.key),
        fmt::format("ALTER TABLE {} ADD COLUMN {} {};", sql_name_,
                    QuoteName(column), definition));
  }
  if (!options_.order_by.empty() && !schema->FindColumn(options_.order_by)) {
    Add(Severity::kError, FindingId("order_by_column_missing"),
        fmt::format("has no column {}, which order_by names",
                    options_.order_by),
        fmt::format("ALTER TABLE {} ADD COLUMN {} bigserial;", sql_name_,
                    QuoteName(options_.order_by)));
  }
  absl::StatusOr<PolledTable> table = MakePolledTable(options_, *schema);
  if (table.ok()) {
    table_ = *std::move(table);
  } else if (FirstError(findings_) == nullptr) {
    Add(Severity::kError, FindingId("id_column_missing"),
        std::string(table.status().message()));
  }
  const auto mapper = TableMapper::Create(options_, *schema, references_);
  if (!mapper.ok() && FirstError(findings_) == nullptr) {
    Add(Severity::kError, FindingId(kReasonTableUnsuitable),
        fmt::format("cannot be published: {}",
                    std::string(mapper.status().message())));
  }
  co_return absl::OkStatus();
}

// `cursor` leaves the rows of the outbox as they are.
asio::awaitable<absl::Status> PollingCheck::CheckIdentity() {
  if (polling_.strategy == Strategy::kCursor) co_return absl::OkStatus();
  const RowChange change = polling_.strategy == Strategy::kDelete
                               ? RowChange::kDelete
                               : RowChange::kUpdate;
  std::string name = options_.name;
  std::string needed_for = "source: polling";
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Findings found,
      co_await CheckReplicaIdentity(connection_, name, change, needed_for,
                                    Severity::kError));
  findings_.insert(findings_.end(), found.begin(), found.end());
  co_return absl::OkStatus();
}

// Rows are found by their id, sorted, and grouped by their aggregate.
asio::awaitable<absl::Status> PollingCheck::CheckComparisons() {
  std::vector<std::pair<std::string, Comparison>> wanted = {
      {table_.id, Comparison::kEquality}, {table_.order, Comparison::kOrder}};
  for (const std::string& column : table_.aggregate) {
    wanted.emplace_back(column, Comparison::kEquality);
  }
  for (const auto& [column, comparison] : wanted) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        const std::string type,
        co_await ReadTypeOf(connection_, options_.name, column));
    if (column == table_.id) table_.id_type = type;
    WALPOST_CO_ASSIGN_OR_RETURN(
        const bool can_compare,
        co_await CanCompare(connection_, type, comparison));
    if (can_compare) continue;
    Add(Severity::kError, FindingId("column_not_comparable"),
        fmt::format(
            "column {} has a type whose values Postgres cannot "
            "compare, and rows are {} it",
            column,
            comparison == Comparison::kOrder ? "sorted by" : "found by"),
        fmt::format("ALTER TABLE {} ALTER COLUMN {} TYPE text;", sql_name_,
                    QuoteName(column)));
  }
  co_return absl::OkStatus();
}

void PollingCheck::CheckOrder() {
  const pgoutput::ColumnSchema& order =
      table_.schema.columns[*table_.schema.FindColumn(table_.order)];
  const bool is_clock =
      pgoutput::IsTimestamp(order.type_oid) || order.name == table_.timestamp;
  const bool is_integer = pgoutput::IsInteger(order.type_oid);
  if (is_integer && !is_clock) return;
  if (polling_.strategy == Strategy::kCursor && !is_integer) {
    return Add(
        Severity::kError, FindingId("order_by_not_integer"),
        fmt::format("column {} is not an integer: a cursor needs a sequence",
                    order.name),
        fmt::format("ALTER TABLE {} ADD COLUMN seq bigserial UNIQUE; and "
                    "set order_by: seq",
                    sql_name_));
  }
  if (table_.aggregate.empty() && !is_clock) return;
  Add(Severity::kWarning, FindingId("order_by_not_sequence"),
      fmt::format("is published in the order of column {}, which is not "
                  "a sequence: {}",
                  order.name,
                  is_clock ? "clocks of writers disagree, so events of one "
                             "aggregate may go out in the wrong order"
                           : "the order of an aggregate's events is arbitrary"),
      fmt::format(
          "ALTER TABLE {} ADD COLUMN seq bigserial; and set order_by: seq",
          sql_name_));
}

void PollingCheck::CheckLease() {
  const RowStateOptions& state = table_.state;
  if (polling_.strategy == Strategy::kCursor) {
    const auto column = table_.schema.FindColumn(state.transaction_id);
    if (table_.schema.columns[*column].type_oid == kXid8Oid) return;
    Add(Severity::kError, FindingId("transaction_id_not_xid8"),
        fmt::format("column {} is not of type xid8", state.transaction_id),
        fmt::format("ALTER TABLE {0} DROP COLUMN {1}, ADD COLUMN {1} {2};",
                    sql_name_, QuoteName(state.transaction_id),
                    kTransactionIdDefinition));
    return;
  }
  if (polling_.strategy == Strategy::kClaim && !state.has_lease() &&
      !polling_.has_lease_table()) {
    Add(Severity::kNote, FindingId("lease_column_missing"),
        fmt::format("has no column for a lease: rows are held by a transaction "
                    "that waits for Kafka, at most for {} ms",
                    polling_.transaction_timeout.count()),
        "set polling.lease_table, and run walpost init -c FILE --admin "
        "CONNINFO; or set state.locked_until to a timestamptz column");
  }
}

// A NULL in some columns (many ORMs insert it in place of a default) would make
// a row invisible, or impossible to mark; other columns must accept NULL.
asio::awaitable<absl::Status> PollingCheck::CheckNulls() {
  const bool is_cursor = polling_.strategy == Strategy::kCursor;
  const RowStateOptions& state = table_.state;
  std::vector<std::string> never_null = {state.status, table_.id};
  std::vector<std::string> set_to_null = {
      state.locked_until, state.heartbeat_at, state.next_attempt_at};
  if (is_cursor) {
    never_null = {state.transaction_id, table_.order, table_.id};
    set_to_null.clear();
  }
  const std::string sql = fmt::format(
      "SELECT c.relkind = 'p', a.attname, a.attnotnull FROM "
      "pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid "
      "= c.oid AND a.attnum > 0 WHERE c.oid = {}::regclass",
      connection_.Literal(sql_name_));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  for (size_t i = 0; i < rows.size(); ++i) {
    is_partitioned_ = rows.Bool(i, 0);
    const std::string column = rows.Text(i, 1);
    const bool is_not_null = rows.Bool(i, 2);
    const auto among = [&column](const std::vector<std::string>& columns) {
      return !column.empty() &&
             std::ranges::find(columns, column) != columns.end();
    };
    const auto alter = [&](std::string_view change) {
      return fmt::format("ALTER TABLE {} ALTER COLUMN {} {};", sql_name_,
                         QuoteName(column), change);
    };
    if (!is_not_null && among(never_null)) {
      Add(is_cursor ? Severity::kError : Severity::kWarning,
          FindingId("column_may_be_null"),
          fmt::format(
              "column {} may be NULL, and such a row would never be {}", column,
              column == table_.id && !is_cursor ? "marked" : "published"),
          alter("SET NOT NULL"));
    }
    if (!is_not_null && !is_cursor && column == table_.order &&
        column != table_.id) {
      Add(Severity::kWarning, FindingId("order_by_may_be_null"),
          fmt::format("column {} may be NULL, and such a row goes out after "
                      "all others, in no order",
                      column),
          alter("SET NOT NULL"));
    }
    if (is_not_null && among(set_to_null)) {
      Add(Severity::kError, FindingId("state_column_not_null"),
          fmt::format("column {} may not be NULL, which it is while a row is "
                      "not held and does not wait",
                      column),
          alter("DROP NOT NULL"));
    }
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> PollingCheck::CheckStatusValues() {
  const RowStateOptions& state = table_.state;
  if (state.status.empty()) co_return absl::OkStatus();
  const std::string sql = fmt::format(
      "SELECT t.oid::regtype, e.enumlabel FROM pg_catalog.pg_attribute a JOIN "
      "pg_catalog.pg_type t ON t.oid = a.atttypid JOIN pg_catalog.pg_enum e ON "
      "e.enumtypid = t.oid WHERE a.attrelid = {}::regclass AND a.attname = {}",
      connection_.Literal(sql_name_), connection_.Literal(state.status));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows labels,
                              co_await connection_.Execute(sql));
  if (labels.size() == 0) co_return absl::OkStatus();  // not an enum
  std::vector<std::string> known;
  for (size_t i = 0; i < labels.size(); ++i) {
    known.push_back(labels.Text(i, 1));
  }
  std::vector<std::pair<const char*, std::string>> wanted = {
      {"pending", state.pending}, {"published", state.published}};
  if (state.has_lease() && !state.processing.empty()) {
    wanted.emplace_back("processing", state.processing);
  }
  if (state.can_fail()) wanted.emplace_back("failed", state.failed);
  for (const auto& [key, value] : wanted) {
    if (std::ranges::find(known, value) != known.end()) continue;
    Add(Severity::kError, FindingId("status_value_missing"),
        fmt::format("column {} is of enum {}, which has no value '{}' for "
                    "state.{}",
                    state.status, labels.Text(0, 0), value, key),
        fmt::format("ALTER TYPE {} ADD VALUE {}; or set state.{} to one of {}",
                    labels.Text(0, 0), connection_.Literal(value), key,
                    absl::StrJoin(known, ", ")));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> PollingCheck::CheckIndexes() {
  WALPOST_CO_ASSIGN_OR_RETURN(
      TableIndexes indexes,
      co_await TableIndexes::Read(connection_, sql_name_));
  IndexCheck check(
      table_, polling_.strategy, is_partitioned_,
      [this](std::string_view text) { return connection_.Literal(text); });
  for (Finding& finding : check.Run(indexes)) {
    findings_.push_back(std::move(finding));
  }
  // Not by a heartbeat: published rows keep theirs.
  for (const std::string& column :
       {table_.state.locked_until, table_.state.next_attempt_at}) {
    if (indexes.FindWhereSet(column)) table_.found_by.push_back(column);
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> PollingCheck::CheckPrivileges() {
  std::vector<std::string> wanted = {"SELECT"};
  // Locking a row needs UPDATE, even if it is finally deleted.
  if (polling_.strategy != Strategy::kCursor) wanted.push_back("UPDATE");
  if (polling_.strategy == Strategy::kDelete) wanted.push_back("DELETE");
  std::vector<std::string> missing;
  std::string user;
  const std::string table = RelationOidSql(connection_, options_.name);
  const std::string schema = options_.name.substr(0, options_.name.find('.'));
  for (const std::string& privilege : wanted) {
    const std::string sql = fmt::format(
        "SELECT has_table_privilege({}, '{}'), current_user, "
        "has_schema_privilege({}, 'USAGE')",
        table, privilege, connection_.Literal(schema));
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                                co_await connection_.Execute(sql));
    if (!rows.Bool(0, 0)) missing.push_back(privilege);
    user = rows.Text(0, 1);
    if (privilege != wanted.front() || rows.Bool(0, 2)) continue;
    Add(Severity::kError, FindingId("schema_usage_missing"),
        fmt::format("role {} may not use its schema", user),
        fmt::format("GRANT USAGE ON SCHEMA {} TO {};", QuoteName(schema),
                    QuoteName(user)));
  }
  if (missing.empty()) co_return absl::OkStatus();
  const std::string privileges = absl::StrJoin(missing, ", ");
  Add(Severity::kError, FindingId("table_privilege_missing"),
      fmt::format("role {} may not {} it", user, privileges),
      fmt::format("GRANT {} ON {} TO {};", privileges, sql_name_,
                  QuoteName(user)));
  co_return absl::OkStatus();
}

// The poller makes the table, if it may.
asio::awaitable<absl::Status> PollingCheck::CheckCursorTable() {
  if (polling_.strategy != Strategy::kCursor) co_return absl::OkStatus();
  const std::string& table = polling_.cursor_table;
  const std::string schema =
      connection_.Literal(table.substr(0, table.find('.')));
  const std::string sql = fmt::format(
      "SELECT {0} IS NOT NULL, coalesce((SELECT bool_and("
      "has_table_privilege({0}, privilege)) FROM unnest(ARRAY['SELECT', "
      "'INSERT', 'UPDATE']) AS privilege), false) AND coalesce((SELECT "
      "has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE "
      "nspname = {1}), false), coalesce((SELECT has_schema_privilege(oid, "
      "'CREATE') FROM pg_catalog.pg_namespace WHERE nspname = {1}), false), "
      "current_user",
      RelationOidSql(connection_, table), schema);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection_.Execute(sql));
  const bool exists = rows.Bool(0, 0);
  if (exists ? rows.Bool(0, 1) : rows.Bool(0, 2)) co_return absl::OkStatus();
  findings_.push_back(
      {Severity::kError,
       FindingId(exists ? "cursor_table_forbidden" : "cursor_table_missing"),
       fmt::format("polling.cursor_table {}", table),
       exists ? "may not be read and written by this role"
              : "is missing, and this role may not make it",
       fmt::format("run as the owner of the schema (sql/cursor.sql): {}",
                   GrantCursorTableSql(table, rows.Text(0, 3)))});
  co_return absl::OkStatus();
}

// Unlike the cursor's table it is not made by `run`: if it has vanished, others
// may hold rows by it.
asio::awaitable<absl::Status> PollingCheck::CheckLeaseTable() {
  if (!polling_.has_lease_table()) co_return absl::OkStatus();
  const std::string& table = polling_.lease_table;
  const std::string sql = fmt::format(
      "SELECT c.oid IS NOT NULL, coalesce((SELECT "
      "bool_and(has_table_privilege(c.oid, privilege)) FROM "
      "unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege), "
      "false) AND coalesce(has_schema_privilege(c.relnamespace, 'USAGE'), "
      "false), (SELECT count(*) = 5 FROM pg_catalog.pg_attribute a WHERE "
      "a.attrelid = c.oid AND a.attname IN ('outbox_table', 'holder', 'piece', "
      "'until', 'keys')), c.relpersistence = 'u', current_user FROM (SELECT) "
      "one LEFT JOIN pg_catalog.pg_class c ON c.oid = {}",
      RelationOidSql(connection_, table));
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection_.Execute(sql));
  const auto add = [&](FindingId id, std::string text, std::string remedy) {
    findings_.push_back({Severity::kError, std::move(id),
                         fmt::format("polling.lease_table {}", table),
                         std::move(text), std::move(remedy)});
  };
  const std::string grant =
      fmt::format("run as the owner of the schema (sql/leases.sql): {}",
                  GrantLeaseTableSql(table, rows.Text(0, 4)));
  if (!rows.Bool(0, 0)) {
    add(FindingId("lease_table_missing"),
        "does not exist: it says which rows other walposts hold",
        "stop every walpost that polls these tables, and " + grant);
  } else if (!rows.Bool(0, 1)) {
    add(FindingId("lease_table_forbidden"),
        "may not be read and written by this role", grant);
  } else if (!rows.Bool(0, 2)) {
    add(FindingId("lease_table_unsuitable"),
        "has not the columns of sql/leases.sql",
        "set polling.lease_table to a table of its own");
  } else if (rows.Bool(0, 3)) {
    add(FindingId("lease_table_unlogged"),
        "is unlogged: a crash of Postgres would empty it while rows are held",
        fmt::format("ALTER TABLE {} SET LOGGED;", QuoteQualifiedName(table)));
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
