#include "cli/init/outbox_tables.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/shared/output.h"
#include "fmt/format.h"
#include "outbox/fields.h"
#include "outbox/similar_table.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/slot.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kStatementLimit{60};
constexpr std::chrono::seconds kLookLimit{10};

void Report(std::string_view what, std::string_view name,
            std::string_view done) {
  Print("{} {}: {}\n", what, name, done);
}

// By the index of the table.
asio::awaitable<absl::StatusOr<std::vector<bool>>> FindExisting(
    Connection& connection, const std::vector<TableOptions>& tables) {
  const std::string sql = fmt::format(
      "WITH {} SELECT number FROM tables WHERE relation IS NOT NULL",
      TablesSql(connection, tables));
  connection.set_deadline(Clock::now() + kStatementLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  std::vector<bool> exists(tables.size());
  for (size_t i = 0; i < rows.size(); ++i) exists[rows.Unsigned(i, 0)] = true;
  co_return exists;
}

}  // namespace

asio::awaitable<absl::Status> OutboxTables::Make() {
  const size_t count = config_.outbox.tables.size();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<bool> exists,
      co_await FindExisting(connection_, config_.outbox.tables));
  for (size_t i = 0; i < count; ++i) {
    // Before anything is made.
    if (!exists[i]) WALPOST_CO_RETURN_IF_ERROR(co_await CheckMissing(i));
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string& table = config_.outbox.tables[i].name;
    if (!exists[i]) WALPOST_CO_RETURN_IF_ERROR(co_await MakeTable(i));
    Report("table", table, exists[i] ? "exists" : "created");
    if (!WantsNotifyTrigger(config_)) continue;
    WALPOST_CO_ASSIGN_OR_RETURN(const std::string trigger,
                                NotifyTriggerSql(config_, table));
    WALPOST_CO_RETURN_IF_ERROR(co_await Execute(trigger));
    Report("notify trigger of", table, "created");
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> OutboxTables::CheckMissing(size_t index) {
  const std::string& table = config_.outbox.tables[index].name;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<std::string> names,
      co_await ReadTableNames(connection_, config_.outbox));
  const std::string similar = SimilarTable(table, names);
  const std::vector<std::string> foreign = ForeignColumns(index);
  if (similar.empty() && foreign.empty()) co_return absl::OkStatus();
  std::string text = fmt::format("table {} does not exist", table);
  if (!similar.empty()) text += fmt::format(": did you mean {}?", similar);
  if (!foreign.empty()) {
    text += fmt::format(
        "{} The configuration names columns that a table of walpost's own does "
        "not have: {}.",
        similar.empty() ? "." : "", absl::StrJoin(foreign, ", "));
  }
  co_return absl::FailedPreconditionError(fmt::format(
      "{} Correct outbox.tables; or, if it is to be a new table, create it "
      "with the SQL that walpost init -c FILE --print shows, and run walpost "
      "init -c FILE again",
      text));
}

// Columns that the configuration names for the table, and that one that is made
// would not have.
std::vector<std::string> OutboxTables::ForeignColumns(size_t index) const {
  const TableOptions& table = config_.outbox.tables[index];
  const std::vector<std::string> own = OutboxTableColumns(config_);
  std::vector<std::string> named = table.value_columns;
  for (const FieldDescription& field : kFields) {
    const FieldSource& source = table.columns.*field.source;
    if (source.kind == FieldSource::Kind::kColumn) named.push_back(source.text);
  }
  if (table.columns.timestamp.kind == FieldSource::Kind::kColumn) {
    named.push_back(table.columns.timestamp.text);
  }
  const RowStateOptions& state = table.state;
  for (const std::string* column :
       {&table.order_by, &state.status, &state.published_at,
        &state.locked_until, &state.heartbeat_at, &state.attempts,
        &state.last_error, &state.next_attempt_at, &state.transaction_id}) {
    if (!column->empty()) named.push_back(*column);
  }
  for (const std::string& reference : routes_[index].references()) {
    if (FindField(reference) == kFields.size()) named.push_back(reference);
  }
  std::vector<std::string> foreign;
  for (const std::string& column : named) {
    const bool is_known = std::ranges::count(own, column) > 0 ||
                          std::ranges::count(foreign, column) > 0;
    if (!is_known) foreign.push_back(column);
  }
  return foreign;
}

asio::awaitable<absl::Status> OutboxTables::MakeTable(size_t index) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string sql,
      OutboxTableSql(config_, config_.outbox.tables[index]));
  co_return co_await Execute(sql);
}

asio::awaitable<absl::Status> OutboxTables::Execute(std::string sql) {
  connection_.set_deadline(Clock::now() + kStatementLimit);
  const absl::StatusOr<QueryRows> rows = co_await connection_.Execute(sql);
  co_return rows.status();
}

// A record of an older release does not tell which tables were taken up.
asio::awaitable<absl::Status> AnnounceNewTables(Connection& connection,
                                                const Config& config) {
  const std::string& publication = config.postgres.publication;
  connection.set_deadline(Clock::now() + kStatementLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, publication, config.postgres.slot));
  if (!birth || !birth->added) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Coverage now,
      co_await ReadCoverage(connection, publication, config.outbox.tables));
  const std::string known = CoverageOf(*birth, Announced::kYes);
  const std::vector<Coverage::Table> added =
      AddedTables(Coverage::Parse(known), now);
  if (added.empty()) co_return absl::OkStatus();
  const std::string sql = "SELECT pg_catalog.pg_current_wal_insert_lsn()";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  WALPOST_CO_ASSIGN_OR_RETURN(const Lsn end, Lsn::Parse(rows.Text(0, 0)));
  WALPOST_CO_ASSIGN_OR_RETURN(const RecordFence fence,
                              co_await ReadFence(connection));
  BirthRecord record = *birth;
  for (const Coverage::Table& table : added) {
    record.added->push_back(
        {table.name, table.definition, fence.transaction, end});
  }
  const std::string consequence =
      "tables that are new in outbox.tables are not on record";
  co_return co_await RequireBirthRecord(connection, publication, record,
                                        consequence);
}

namespace {

asio::awaitable<absl::Status> Look(Connection& connection, const Config& config,
                                   ExistingObjects& existing) {
  const std::string& publication = config.postgres.publication;
  const std::vector<TableOptions>& tables = config.outbox.tables;
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<bool> exists,
                              co_await FindExisting(connection, tables));
  for (size_t i = 0; i < tables.size(); ++i) {
    if (exists[i]) existing.tables.insert(tables[i].name);
  }
  if (config.source == Source::kPolling) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(
      existing.publication,
      co_await PublicationExists(connection, publication));
  const std::string sql = fmt::format(
      "SELECT schemaname || '.' || tablename FROM "
      "pg_catalog.pg_publication_tables WHERE pubname = {}",
      connection.Literal(publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  for (size_t i = 0; i < rows.size(); ++i) {
    existing.published.insert(rows.Text(i, 0));
  }
  const absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(connection, config.postgres.slot);
  if (!slot.ok()) co_return slot.status();
  existing.slot = slot->has_value();
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<ExistingObjects> FindExistingObjects(
    asio::any_io_executor executor, const Config& config) {
  ExistingObjects existing;
  ConnectionOptions options;
  options.server = config.postgres.server;
  options.application_name = "walpost:init";
  absl::StatusOr<std::unique_ptr<Connection>> connection =
      co_await Connection::Connect(executor, options);
  absl::Status status = connection.status();
  if (status.ok()) {
    (*connection)->set_deadline(Clock::now() + kLookLimit);
    existing.server_version = (*connection)->server_version();
    status = co_await Look(**connection, config, existing);
  }
  if (!status.ok()) existing.unknown = std::string(status.message());
  co_return existing;
}

}  // namespace walpost
