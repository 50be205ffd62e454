#include "cli/init/role_rights.h"

#include <set>
#include <string_view>
#include <utility>

#include "base/sql_name.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "cli/shared/output.h"
#include "fmt/format.h"
#include "postgres/checkpoint/checkpoint_sql.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/connect/replication_right.h"
#include "postgres/parking/parking_sql.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::string_view SchemaOf(std::string_view table) {
  return table.substr(0, table.find('.'));
}

// The privileges that `run`, `verify` and `recover` need on an outbox table.
std::vector<std::string> PrivilegesOnOutbox(const Config& config) {
  using Strategy = PollingOptions::Strategy;
  std::vector<std::string> privileges = {"SELECT"};
  const bool is_polled = config.source == Source::kPolling;
  if (is_polled && config.polling.strategy != Strategy::kCursor) {
    privileges.push_back("UPDATE");
  }
  if (config.retention.enabled() ||
      (is_polled && config.polling.strategy == Strategy::kDelete)) {
    privileges.push_back("DELETE");
  }
  return privileges;
}

struct TableNeeds {
  std::string table;
  std::vector<std::string> privileges;
};

// A table that does not exist is skipped: run makes it, or says how.
std::vector<TableNeeds> NeedsOf(const Config& config) {
  std::vector<TableNeeds> needs;
  for (const TableOptions& table : config.outbox.tables) {
    needs.push_back({table.name, PrivilegesOnOutbox(config)});
  }
  if (config.source == Source::kPolling) {
    if (config.polling.strategy == PollingOptions::Strategy::kCursor) {
      needs.push_back(
          {config.polling.cursor_table, {"SELECT", "INSERT", "UPDATE"}});
    }
    if (config.polling.has_lease_table()) {
      needs.push_back({config.polling.lease_table,
                       {"SELECT", "INSERT", "UPDATE", "DELETE"}});
    }
    return needs;
  }
  if (config.checkpoint.is_in_source()) {
    needs.push_back({config.checkpoint.table, {"SELECT", "INSERT", "UPDATE"}});
  }
  if (config.parks()) {
    needs.push_back(
        {config.parking.table, {"SELECT", "INSERT", "UPDATE", "DELETE"}});
  }
  return needs;
}

}  // namespace

std::vector<RoleRights::Right> RoleRights::RightsOf(const Config& config,
                                                    const std::string& role) {
  std::vector<Right> rights;
  std::set<std::string_view> schemas;
  for (const TableNeeds& need : NeedsOf(config)) {
    const std::string_view schema = SchemaOf(need.table);
    if (schemas.insert(schema).second) {
      rights.push_back(
          {fmt::format("may use schema {}", schema),
           fmt::format("coalesce((SELECT pg_catalog.has_schema_privilege({}, "
                       "oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE "
                       "nspname = {}), true)",
                       QuoteText(role), QuoteText(schema)),
           fmt::format("GRANT USAGE ON SCHEMA {} TO {};", QuoteName(schema),
                       QuoteName(role))});
    }
    for (const std::string& privilege : need.privileges) {
      rights.push_back(
          {fmt::format("has {} on {}", privilege, need.table),
           fmt::format("coalesce(pg_catalog.has_table_privilege({}, {}, "
                       "'{}'), true)",
                       QuoteText(role), RelationOidSql(QuoteText, need.table),
                       privilege),
           fmt::format("GRANT {} ON {} TO {};", privilege,
                       QuoteQualifiedName(need.table), QuoteName(role))});
    }
  }
  return rights;
}

RoleRights::Right RoleRights::Ownership(const Config& config,
                                        const std::string& role) {
  const std::string& publication = config.postgres.publication;
  std::string ours = "'{}'::text[]";
  if (!config.outbox.tables.empty()) {
    ours.clear();
    for (const TableOptions& table : config.outbox.tables) {
      ours += (ours.empty() ? "ARRAY[" : ", ") + QuoteText(table.name);
    }
    ours += "]::text[]";
  }
  return {fmt::format("owns publication {}", publication),
          fmt::format(
              "coalesce((SELECT pg_catalog.pg_has_role({0}, p.pubowner, "
              "'USAGE') OR p.puballtables OR EXISTS (SELECT FROM "
              "pg_catalog.pg_publication_tables t WHERE t.pubname = p.pubname "
              "AND t.schemaname || '.' || t.tablename <> ALL ({1})) FROM "
              "pg_catalog.pg_publication p WHERE p.pubname = {2}), true)",
              QuoteText(role), ours, QuoteText(publication)),
          fmt::format("ALTER PUBLICATION {} OWNER TO {};",
                      QuoteName(publication), QuoteName(role))};
}

std::string RoleRights::Script(const Config& config, const std::string& role) {
  std::string script = fmt::format(
      "-- What role {} needs, as which walpost connects. On Amazon RDS and\n"
      "-- Aurora: GRANT rds_replication, in place of REPLICATION.\n",
      role);
  if (config.source == Source::kWal) {
    script += fmt::format("ALTER ROLE {} REPLICATION;\n{}\n", QuoteName(role),
                          Ownership(config, role).sql);
  }
  for (const Right& right : RightsOf(config, role)) script += right.sql + "\n";
  return script;
}

asio::awaitable<absl::Status> RoleRights::Require() {
  if (role_.empty()) co_return absl::OkStatus();
  const std::string sql = fmt::format(
      "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = {})",
      connection_.Literal(role_));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  if (rows.Bool(0, 0)) co_return absl::OkStatus();
  co_return absl::FailedPreconditionError(fmt::format(
      "role {} does not exist, and postgres.conninfo names it for walpost run: "
      "CREATE ROLE {} LOGIN REPLICATION; with a password if it needs one "
      "(\\password in psql), or run sql/role.sql",
      role_, QuoteName(role_)));
}

asio::awaitable<absl::Status> RoleRights::GiveRight(Right right) {
  const std::string ask = fmt::format("SELECT {}", right.held);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(ask));
  if (rows.Bool(0, 0)) co_return absl::OkStatus();
  const std::string sql = right.sql;
  const absl::Status given = (co_await connection_.Execute(sql)).status();
  if (given.ok()) {
    Print("role {}: {} now\n", role_, right.text);
  } else if (SqlstateOf(given) == kSqlstateInsufficientPrivilege) {
    Print("role {}: {} not; who may give that is another role\n  -> {}\n",
          role_, right.text, right.sql);
  } else {
    co_return given;
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> RoleRights::OwnPublication() {
  if (role_.empty()) co_return absl::OkStatus();
  Right ownership = Ownership(config_, role_);
  co_return co_await GiveRight(std::move(ownership));
}

// The role owns it, so that a later version may add a column.
asio::awaitable<absl::Status> RoleRights::MakeTable(std::string table,
                                                    std::string sql) {
  const std::string ask =
      fmt::format("SELECT {} IS NOT NULL", RelationOidSql(connection_, table));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(ask));
  if (rows.Bool(0, 0)) co_return absl::OkStatus();
  const std::string make =
      fmt::format("{} ALTER TABLE {} OWNER TO {};", sql,
                  QuoteQualifiedName(table), QuoteName(role_));
  const absl::Status made = (co_await connection_.Execute(make)).status();
  if (made.ok()) Print("table {}: created\n", table);
  // Then run makes it, or has the SQL.
  const bool may_not = SqlstateOf(made) == kSqlstateInsufficientPrivilege;
  co_return may_not ? absl::OkStatus() : made;
}

asio::awaitable<absl::Status> RoleRights::MakeTables(SlotUse use) {
  if (role_.empty()) co_return absl::OkStatus();
  if (config_.checkpoint.is_in_source()) {
    const std::string sql = CreateCheckpointTableSql(config_.checkpoint.table);
    WALPOST_CO_RETURN_IF_ERROR(
        co_await MakeTable(config_.checkpoint.table, sql));
  }
  if (!config_.parks() || use == SlotUse::kMaybe) co_return absl::OkStatus();
  const std::string sql = ParkingSql::Create(config_.parking.table);
  co_return co_await MakeTable(config_.parking.table, sql);
}

asio::awaitable<absl::Status> RoleRights::Give() {
  if (role_.empty()) co_return absl::OkStatus();
  if (config_.source == Source::kWal) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        const ReplicationRight replication,
        co_await FindReplicationRight(connection_, role_));
    Right right{"may replicate", replication.is_held ? "true" : "false",
                replication.sql};
    WALPOST_CO_RETURN_IF_ERROR(co_await GiveRight(std::move(right)));
  }
  for (const Right& right : RightsOf(config_, role_)) {
    WALPOST_CO_RETURN_IF_ERROR(co_await GiveRight(right));
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
