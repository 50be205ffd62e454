#include "cli/init/stale_state.h"

#include <optional>
#include <string>
#include <utility>

#include "app/checkpoint/checkpoint_service.h"
#include "app/checkpoint/checkpoint_stores.h"
#include "base/sqlstate.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

asio::awaitable<std::optional<Finding>> FindOldCheckpoint(
    asio::any_io_executor executor, const Config& config) {
  const absl::StatusOr<std::optional<Checkpoint>> loaded =
      co_await LoadCheckpoint(executor, config);
  if (loaded.ok() && !*loaded) co_return std::nullopt;
  Finding finding{Severity::kWarning, FindingId("stale_checkpoint"),
                  fmt::format("checkpoint of slot {}", config.postgres.slot),
                  "", ""};
  if (!loaded.ok()) {
    finding.text = fmt::format("cannot be looked for: {}",
                               std::string(loaded.status().message()));
    finding.remedy =
        "if the store has one, remove it before walpost runs: it is of the "
        "slot before";
    co_return finding;
  }
  finding.text =
      fmt::format("is at {}, of the slot before: walpost run would stop at it",
                  (*loaded)->confirmed.ToString());
  finding.remedy = fmt::format(
      "before walpost runs: {}; not if this is a clone, and the original goes "
      "on with it: then give the clone a slot name of its own",
      MakeCheckpointStore(executor, config)->HowToRemove(**loaded));
  co_return finding;
}

// Their release sends them, whatever the new slot or a snapshot has.
asio::awaitable<std::optional<Finding>> FindParked(Connection& connection,
                                                   const Config& config) {
  const std::string table = QuoteQualifiedName(config.parking.table);
  const std::string count = fmt::format(
      "SELECT count(*) FROM {} WHERE slot = '{}' AND state IN ('dead', "
      "'waiting', 'retry')",
      table, config.postgres.slot);
  const absl::StatusOr<QueryRows> rows = co_await connection.Execute(count);
  if (SqlstateOf(rows.status()) == kSqlstateUndefinedTable) {
    co_return std::nullopt;
  }
  Finding finding{Severity::kWarning, FindingId("stale_parked_events"),
                  fmt::format("parking.table {}", config.parking.table), "",
                  ""};
  if (!rows.ok()) {
    finding.text = fmt::format("cannot be looked at: {}",
                               std::string(rows.status().message()));
    finding.remedy = "walpost parked -c FILE list, as the role of walpost run";
    co_return finding;
  }
  if (rows->Unsigned(0, 0) == 0) co_return std::nullopt;
  finding.text = fmt::format(
      "has {} events of the slot before: their release sends them, also if "
      "snapshot: initial has sent their rows, and later ones, by then",
      rows->Unsigned(0, 0));
  finding.remedy = fmt::format(
      "walpost parked -c FILE list shows them; if a snapshot is to send them "
      "instead, before walpost runs: DELETE FROM {} WHERE slot = '{}'",
      table, config.postgres.slot);
  co_return finding;
}

}  // namespace

asio::awaitable<Findings> FindStaleState(asio::any_io_executor executor,
                                         Connection& connection,
                                         const Config& config) {
  Findings findings;
  std::optional<Finding> found = co_await FindOldCheckpoint(executor, config);
  if (found) findings.push_back(*std::move(found));
  if (!config.parks()) co_return findings;
  found = co_await FindParked(connection, config);
  if (found) findings.push_back(*std::move(found));
  co_return findings;
}

}  // namespace walpost
