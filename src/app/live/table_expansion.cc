#include "app/live/table_expansion.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "app/checkpoint/checkpoint_service.h"
#include "base/status_macros.h"
#include "checkpoint/coverage.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "log/log.h"
#include "outbox/table_pattern.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kLookLimit{10};

using Names = std::set<std::string>;

Names NamesOf(const OutboxOptions& outbox) {
  Names names;
  for (const TableOptions& table : outbox.tables) names.insert(table.name);
  return names;
}

// Names that tables on record have now.
asio::awaitable<absl::StatusOr<std::map<uint32_t, std::string>>> ReadNames(
    Connection& connection, const std::vector<uint32_t>& oids) {
  std::map<uint32_t, std::string> names;
  const std::string sql = fmt::format(
      "SELECT c.oid, n.nspname || '.' || c.relname FROM pg_catalog.pg_class c "
      "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = "
      "ANY ('{{{}}}'::oid[])",
      fmt::join(oids, ","));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  for (size_t i = 0; i < rows.size(); ++i) {
    names[static_cast<uint32_t>(rows.Unsigned(i, 0))] = rows.Text(i, 1);
  }
  co_return names;
}

// Tables that were streamed under these names. One that was renamed to another
// name of the list is that one.
asio::awaitable<absl::StatusOr<Names>> FindRecorded(
    asio::any_io_executor executor, Connection& connection,
    const Config& config, Names listed) {
  const WalSourceOptions& postgres = config.postgres;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, postgres.publication,
                               postgres.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string known,
      co_await ReadKnownCoverage(executor, config, birth));
  const Coverage coverage = Coverage::Parse(known);
  const std::vector<uint32_t> oids = TableOids(coverage);
  WALPOST_CO_ASSIGN_OR_RETURN(auto names, co_await ReadNames(connection, oids));
  Names recorded;
  for (size_t i = 0; i < oids.size(); ++i) {
    if (oids[i] == 0 || listed.contains(names[oids[i]])) continue;
    recorded.insert(coverage.tables[i].name);
  }
  co_return recorded;
}

// Tables that are only in the WAL come last.
void NoteDropped(const std::vector<bool>& exists, const Names& recorded,
                 OutboxOptions& outbox) {
  for (size_t i = 0; i < exists.size(); ++i) {
    TableOptions& table = outbox.tables[i];
    table.is_dropped =
        !table.pattern.empty() && !exists[i] && !recorded.contains(table.name);
  }
  PutDroppedLast(outbox);
}

}  // namespace

asio::awaitable<absl::StatusOr<OutboxOptions>> ExpandTables(
    asio::any_io_executor executor, const Config& config,
    const TableExpansion& before) {
  OutboxOptions outbox = WithoutExpansion(config.outbox);
  ConnectionOptions options = TaskSession(config.postgres, "tables");
  options.statement_limit = kLookLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  connection->set_deadline(Clock::now() + kLookLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<MatchingTable> matching,
      co_await FindMatchingTables(*connection, config.postgres.publication,
                                  outbox));
  Names listed = NamesOf(outbox);
  for (const MatchingTable& table : matching) listed.insert(table.name);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Names recorded,
      co_await FindRecorded(executor, *connection, config, listed));
  const Names present = NamesOf(config.outbox);
  Names wanted = recorded;
  wanted.insert(before.in_wal.begin(), before.in_wal.end());
  for (const MatchingTable& table : matching) {
    if (table.is_published || !before.has_streamed ||
        present.contains(table.name)) {
      wanted.insert(table.name);
    }
  }
  const std::vector<std::string> names(wanted.begin(), wanted.end());
  WALPOST_CO_RETURN_IF_ERROR(AddByPattern(outbox, names));
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<bool> exists,
                              co_await FindExistingTables(*connection, outbox));
  NoteDropped(exists, recorded, outbox);
  co_return outbox;
}

bool HasSameTables(const OutboxOptions& a, const OutboxOptions& b) {
  return NamesOf(a) == NamesOf(b) &&
         NamesOf(WithoutDropped(a)) == NamesOf(WithoutDropped(b));
}

void WarnOfUnmatchedPatterns(const OutboxOptions& outbox) {
  for (const std::string& pattern : UnmatchedPatterns(outbox)) {
    LogWarn(
        "outbox.tables: no table matches {}. If it is spelled correctly, "
        "create "
        "the table and add it to the publication: it is published without a "
        "restart",
        pattern);
  }
}

}  // namespace walpost
