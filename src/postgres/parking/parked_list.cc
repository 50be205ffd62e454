#include "postgres/parking/parked_list.h"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <span>
#include <string>
#include <utility>

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "parking/parking_table_facts.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/task_session.h"
#include "postgres/parking/parked_table_record.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Limit for a verb's wait for a lock.
constexpr char kVerbLockTimeout[] = "lock_timeout=5s";

// Describes the sessions that keep others from reading or writing the table:
// "session 4711 (psql, idle in transaction): LOCK TABLE ...". Empty: none, or
// they cannot be seen. `table`: schema.table.
boost::asio::awaitable<std::string> DescribeLockHolders(Connection& connection,
                                                        std::string table) {
  const std::string sql = fmt::format(
      "SELECT string_agg(DISTINCT format('session %s (%s, %s): %s', a.pid, "
      "coalesce(nullif(a.application_name, ''), a.usename), a.state, "
      "left(a.query, 100)), '; ') FROM pg_catalog.pg_locks l JOIN "
      "pg_catalog.pg_stat_activity a USING (pid) WHERE l.relation = "
      "to_regclass({}) AND l.granted AND l.database = (SELECT oid FROM "
      "pg_catalog.pg_database WHERE datname = current_database()) AND l.mode "
      "IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', "
      "'AccessExclusiveLock') AND l.pid <> pg_backend_pid()",
      connection.Literal(QuoteQualifiedName(table)));
  const absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  co_return rows.ok() ? rows->Text(0, 0) : std::string();
}

// Rows in one statement.
constexpr size_t kMaxRows = 2'000;

absl::StatusOr<ParkedEntry> ParseEntry(const QueryRows& rows, size_t row) {
  ParkedEntry entry;
  entry.number = rows.Unsigned(row, 0);
  entry.position = rows.Text(row, 1);
  WALPOST_ASSIGN_OR_RETURN(entry.state, ParseParkedState(rows.Text(row, 2)));
  entry.content.error_class = rows.Text(row, 3);
  entry.content.reason = rows.Text(row, 4);
  WALPOST_ASSIGN_OR_RETURN(const OwnValue event, rows.Bytea(row, 5));
  WALPOST_RETURN_IF_ERROR(DecodeParked(event.value_or(""), entry.content));
  entry.payload_bytes = rows.Unsigned(row, 6);
  if (rows.Get(row, 7)) {
    entry.decided_at =
        WallTime(std::chrono::microseconds(rows.Integer(row, 7)));
  }
  entry.decided_by = rows.Text(row, 8);
  entry.decided_why = rows.Text(row, 9);
  const bool is_letter = ToString(entry.state).starts_with("dead_letter");
  (is_letter ? entry.content.topic : entry.isolated_topic) = rows.Text(row, 10);
  entry.system_identifier = rows.Text(row, 11);
  entry.digest = rows.Text(row, 12);
  entry.may_be_sent = rows.Bool(row, 13);
  return entry;
}

std::span<const ParkedNumber> PortionFrom(const std::vector<ParkedNumber>& rows,
                                          size_t first) {
  const size_t count = std::min(kMaxRows, rows.size() - first);
  return {rows.data() + first, count};
}

}  // namespace

ConnectionOptions ParkedList::Session(const WalSourceOptions& postgres,
                                      std::string_view verb) {
  ConnectionOptions options = TaskSession(postgres, verb);
  options.settings.emplace_back(kVerbLockTimeout);
  return options;
}

asio::awaitable<absl::StatusOr<ParkedList>> ParkedList::Open(
    Connection& connection, const WalSourceOptions& postgres, std::string table,
    IfUnknown if_unknown) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, postgres.publication,
                               postgres.slot));
  const ParkedTable on_record = birth ? birth->parked_table : ParkedTable();
  ParkingNames names{table, postgres.slot, ""};
  names.ascii_only = connection.server_encoding() != "UTF8";
  WALPOST_CO_ASSIGN_OR_RETURN(
      const ParkingTableFacts facts,
      co_await ReadParkingTableFacts(connection, names, postgres.publication,
                                     on_record, Lsn()));
  if (const auto problem = FindProblemOfHistory(facts)) {
    co_return ToStatus(*problem);
  }
  if (!facts.exists() && !birth && if_unknown == IfUnknown::kRefuse) {
    co_return absl::FailedPreconditionError(
        fmt::format("table {} does not exist, and it is not on record whether "
                    "slot {} has used it: correct parking.table, or "
                    "postgres.slot and postgres.publication",
                    table, postgres.slot));
  }
  if (facts.exists() && !facts.is_current) {
    co_return absl::FailedPreconditionError(fmt::format(
        "table {} was made by an earlier release and lacks columns: start "
        "walpost, which adds them; or run as the owner of the schema "
        "(sql/parked.sql): {}",
        table, facts.grant_sql));
  }
  co_return ParkedList(connection, std::move(names), facts.exists());
}

ParkedList::ParkedList(Connection& connection, ParkingNames names, bool exists)
    : connection_(&connection),
      table_(names.table),
      exists_(exists),
      sql_(std::move(names), [&connection](std::string_view text) {
        return connection.Literal(text);
      }) {}

asio::awaitable<absl::StatusOr<QueryRows>> ParkedList::Execute(
    std::string sql) {
  absl::StatusOr<QueryRows> rows =
      co_await connection_->Execute(std::move(sql));
  if (SqlstateOf(rows.status()) != kSqlstateLockNotAvailable) co_return rows;
  const std::string holders =
      co_await DescribeLockHolders(*connection_, table_);
  co_return absl::UnavailableError(
      fmt::format("table {} is locked{}{}: try again when the lock is released",
                  table_, holders.empty() ? "" : " by ", holders));
}

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ParkedList::Read(
    ParkingSql::Settled settled) {
  co_return co_await ReadAll(sql_.List(settled));
}

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>>
ParkedList::ReadLetters(ParkingSql::Settled settled) {
  co_return co_await ReadAll(sql_.ListLetters(settled));
}

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ParkedList::ReadAll(
    std::string sql) {
  std::vector<ParkedEntry> entries;
  if (!exists_) co_return entries;
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(std::move(sql)));
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StatusOr<ParkedEntry> entry = ParseEntry(rows, i);
    if (!entry.ok()) {
      co_return absl::DataLossError(
          fmt::format("table {}, position {}: {}", table_, rows.Text(i, 1),
                      std::string(entry.status().message())));
    }
    entries.push_back(*std::move(entry));
  }
  co_return entries;
}

asio::awaitable<absl::StatusOr<OwnValue>> ParkedList::ReadPayload(
    ParkedNumber row) {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(sql_.Payload(row)));
  if (rows.size() == 0) co_return OwnValue();
  co_return rows.Bytea(0, 0);
}

asio::awaitable<absl::StatusOr<ParkedList::Decided>> ParkedList::Decide(
    std::vector<ParkedNumber> rows, ParkedState state, std::string by,
    std::string why) {
  const bool is_about_letters = state == ParkedState::kLetterRetry ||
                                state == ParkedState::kLetterDiscarded;
  Decided decided;
  for (size_t i = 0; i < rows.size(); i += kMaxRows) {
    const std::span<const ParkedNumber> portion = PortionFrom(rows, i);
    const std::string sql = is_about_letters
                                ? sql_.DecideLetters(portion, state, by, why)
                                : sql_.Decide(portion, state, by, why);
    WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows changed, co_await Execute(sql));
    for (size_t row = 0; row < changed.size(); ++row) {
      decided.rows.push_back(changed.Unsigned(row, 0));
      decided.sending += changed.Bool(row, 1);
    }
  }
  co_return decided;
}

asio::awaitable<absl::StatusOr<std::vector<ParkedState>>> ParkedList::States(
    std::vector<ParkedNumber> rows) {
  std::vector<ParkedState> states;
  for (size_t i = 0; i < rows.size(); i += kMaxRows) {
    const std::string sql = sql_.States(PortionFrom(rows, i));
    WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows found, co_await Execute(sql));
    for (size_t row = 0; row < found.size(); ++row) {
      const absl::StatusOr<ParkedState> state =
          ParseParkedState(found.Text(row, 0));
      if (!state.ok()) co_return state.status();
      states.push_back(*state);
    }
  }
  co_return states;
}

}  // namespace walpost
