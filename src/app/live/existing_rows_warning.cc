#include "app/live/existing_rows_warning.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/checkpoint/checkpoint_service.h"
#include "base/status_macros.h"
#include "checkpoint/coverage.h"
#include "fmt/format.h"
#include "log/log.h"
#include "outbox/route.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/existing_rows.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/observed_slot.h"
#include "postgres/slot/unsent_rows.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;

// The count of a table has shorter limits of its own, at the server.
constexpr std::chrono::seconds kAnswerLimit{10};
constexpr std::chrono::seconds kCountLimit{60};

// Server identity and slot state, from one look.
struct Sight {
  std::string role;
  SlotHistory history = SlotHistory::kNone;
  // Rows of this transaction and later ones come through the slot; 0: unknown.
  uint64_t streamed_from = 0;
  // Tables that no walpost has taken up yet, though others are on record.
  std::vector<Coverage::Table> new_tables;
  bool is_streaming = false;  // something has the slot
};

bool IsNew(const Sight& sight, const std::string& table) {
  return std::ranges::count(sight.new_tables, table, &Coverage::Table::name) >
         0;
}

// Whoever needs the checkpoint reports that it cannot be read.
asio::awaitable<std::string> FindKnownCoverage(
    asio::any_io_executor executor, const Config& config,
    const std::optional<BirthRecord>& birth, AskStore ask_store) {
  if (ask_store == AskStore::kYes) {
    absl::StatusOr<std::string> known =
        co_await ReadKnownCoverage(executor, config, birth);
    if (known.ok()) co_return *std::move(known);
  }
  co_return birth ? CoverageOf(*birth, Announced::kNo) : "";
}

asio::awaitable<absl::StatusOr<Sight>> Look(asio::any_io_executor executor,
                                            Connection& connection,
                                            const Config& config,
                                            AskStore ask_store,
                                            ReportNew new_tables) {
  const std::string who =
      "SELECT system_identifier, current_user FROM "
      "pg_catalog.pg_control_system()";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(who));
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<SlotState> slot,
      co_await FindSlot(connection, config.postgres.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, config.postgres.publication,
                               config.postgres.slot));
  const ObservedSlot seen{rows.Text(0, 0), 0, slot, birth};
  Sight sight;
  sight.role = rows.Text(0, 1);
  if (seen.birth) sight.streamed_from = seen.birth->streamed_from;
  sight.is_streaming = seen.slot && seen.slot->active;
  const AskStore ask_for_tables =
      new_tables == ReportNew::kYes ? ask_store : AskStore::kNo;
  const std::string known =
      co_await FindKnownCoverage(executor, config, seen.birth, ask_for_tables);
  if (!known.empty()) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        const Coverage now,
        co_await ReadCoverage(connection, config.postgres.publication,
                              config.outbox.tables));
    sight.new_tables = AddedTables(Coverage::Parse(known), now);
  }
  if (ask_store == AskStore::kNo) {
    sight.history = HistoryOf(seen.slot, seen.birth, seen.system_identifier,
                              HasCheckpoint::kNo);
    co_return sight;
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const SlotHistory history,
      co_await FindStreamHistory(executor, config, seen));
  sight.history = history;
  co_return sight;
}

Finding Describe(const ExistingRows& rows, const Sight& sight,
                 const Config& config) {
  const std::string& slot = config.postgres.slot;
  Finding finding{Severity::kOk, FindingId("existing_rows_none"),
                  fmt::format("table {}", rows.table), "", ""};
  if (!rows.count) {
    finding.severity = Severity::kNote;
    finding.id = FindingId("existing_rows_unknown");
    finding.text = fmt::format(
        "cannot be read by role {}, so walpost cannot know whether it has rows "
        "that are older than slot {} and will not be published ({}): {}",
        sight.role, slot, rows.ToString(), rows.trouble);
    const std::string table = QuoteQualifiedName(rows.table);
    const std::string role = QuoteName(sight.role);
    finding.remedy = fmt::format(
        "GRANT USAGE ON SCHEMA {} TO {}; GRANT SELECT ON {} TO {}; then "
        "walpost check -c FILE; or run walpost check -c FILE as the owner of "
        "the table",
        SchemaInSql(table), role, table, role);
    return finding;
  }
  if (*rows.count == 0) {
    finding.text = fmt::format("has no rows that are older than slot {}", slot);
    return finding;
  }
  const bool is_one = *rows.count == 1;
  const std::string_view they = is_one ? "it" : "they";
  switch (sight.history) {
    case SlotHistory::kNone:
      finding.text = fmt::format("has {}, and slot {} is not made yet: {}",
                                 rows.ToString(), slot, they);
      break;
    case SlotHistory::kUnknown:
      finding.text = fmt::format(
          "has {}: those that were committed before slot {} was made",
          rows.ToString(), slot);
      break;
    case SlotHistory::kUnused:
    case SlotHistory::kUsed:
    case SlotHistory::kMissing:
      finding.text =
          fmt::format("has {} that {} older than slot {}: {}", rows.ToString(),
                      is_one ? "is" : "are", slot, they);
      break;
  }
  if (config.postgres.initial_snapshot) {
    finding.severity = Severity::kNote;
    finding.id = FindingId("existing_rows_in_snapshot");
    finding.text += " will be published at the first start (snapshot: initial)";
    return finding;
  }
  finding.severity = Severity::kWarning;
  finding.id = FindingId("existing_rows_unpublished");
  finding.text += " will not be published (snapshot: never)";
  finding.remedy =
      "set snapshot: initial before the first walpost run to publish them; or "
      "publish them at any time with walpost replay -c FILE --from-table; do "
      "nothing if another relay has sent them";
  return finding;
}

// A server that does not answer is treated as unreachable.
absl::Status InTime(const absl::Status& status) {
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::UnavailableError(fmt::format(
      "Postgres did not say within {} s which rows are older than the slot: {}",
      kAnswerLimit.count(), std::string(status.message())));
}

}  // namespace

asio::awaitable<absl::StatusOr<Findings>> FindExistingRows(
    asio::any_io_executor executor, const Config& config, AskStore ask_store,
    ReportNew new_tables) {
  ConnectionOptions options = TaskSession(config.postgres, "look");
  options.statement_limit = kAnswerLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  connection->set_deadline(Clock::now() + kAnswerLimit);
  const absl::StatusOr<Sight> sight =
      co_await Look(executor, *connection, config, ask_store, new_tables);
  if (!sight.ok()) co_return InTime(sight.status());
  Findings findings;
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<Route> routes,
                              Route::CreateAll(config.outbox));
  const std::vector<std::vector<std::string>> references = ReferencesOf(routes);
  const std::vector<TableOptions>& tables = config.outbox.tables;
  std::vector<std::string> streamed;  // once there is a stream
  for (size_t i = 0; i < tables.size(); ++i) {
    const bool is_new = IsNew(*sight, tables[i].name);
    if (!is_new) streamed.push_back(tables[i].name);
    if (!is_new || new_tables == ReportNew::kNo) continue;
    connection->set_deadline(Clock::now() + kCountLimit);
    const absl::StatusOr<UnsentRows> unsent = co_await CountUnsentRows(
        *connection, config.postgres, config.outbox, references, i, Lsn());
    if (!unsent.ok()) co_return InTime(unsent.status());
    if (unsent->rows.is_missing) continue;
    findings.push_back(
        DescribeUnsentRows(unsent->rows, config.postgres, sight->is_streaming));
  }
  if (!IsBeforeFirstStream(sight->history)) co_return findings;
  connection->set_deadline(std::nullopt);  // each has its limit
  const absl::StatusOr<std::vector<ExistingRows>> existing =
      co_await CountExistingRows(*connection, std::move(streamed),
                                 sight->streamed_from);
  if (!existing.ok()) co_return InTime(existing.status());
  for (const ExistingRows& rows : *existing) {
    if (!rows.is_missing) findings.push_back(Describe(rows, *sight, config));
  }
  co_return findings;
}

asio::awaitable<bool> WarnOfExistingRows(asio::any_io_executor executor,
                                         const Config& config) {
  const absl::StatusOr<Findings> findings = co_await FindExistingRows(
      executor, config, AskStore::kYes, ReportNew::kNo);
  if (!findings.ok()) co_return !absl::IsUnavailable(findings.status());
  for (const Finding& finding : *findings) {
    if (finding.severity == Severity::kOk) continue;
    LogFinding(finding);
  }
  co_return true;
}

}  // namespace walpost
