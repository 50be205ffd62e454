#include "config/polling_section.h"

#include <utility>

#include "fmt/format.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Strategy = PollingOptions::Strategy;

constexpr size_t kMaxRows = 100'000;
constexpr size_t kMaxAttempts = 1'000'000;
constexpr size_t kMaxChannelLength = 63;

// The columns of `state` that are written: all must differ.
void CheckDistinct(Section& section, const RowStateOptions& state) {
  const std::pair<const char*, const std::string&> columns[] = {
      {"status", state.status},
      {"published_at", state.published_at},
      {"locked_until", state.locked_until},
      {"heartbeat_at", state.heartbeat_at},
      {"attempts", state.attempts},
      {"last_error", state.last_error},
      {"next_attempt_at", state.next_attempt_at},
      {"transaction_id", state.transaction_id},
  };
  for (const auto& first : columns) {
    for (const auto& second : columns) {
      if (&first == &second) break;
      if (first.second.empty() || first.second != second.second) continue;
      section.Fail(first.first, fmt::format("'{}' is {} already", first.second,
                                            second.first));
    }
  }
}

void CheckValues(Section& section, const RowStateOptions& state) {
  if (state.status.empty()) return;
  if (state.pending.empty()) section.Fail("pending", "it is empty");
  if (state.published.empty()) section.Fail("published", "it is empty");
  for (const auto& [key, value] : {std::pair("published", state.published),
                                   std::pair("failed", state.failed),
                                   std::pair("processing", state.processing)}) {
    if (value == state.pending && key != std::string("processing")) {
      section.Fail(key, fmt::format("'{}' is the value of pending", value));
    }
  }
  if (state.failed == state.published) {
    section.Fail("failed", "it is the value of published");
  }
  if (!state.processing.empty() && (state.processing == state.published ||
                                    state.processing == state.failed)) {
    section.Fail("processing", "it is the value of another state");
  }
}

// Missing requirement of the strategy on a table; empty: none.
std::string MissingFor(Strategy strategy, const RowStateOptions& state) {
  switch (strategy) {
    case Strategy::kClaim:
      if (state.marks_published()) return "";
      return "polling.strategy: claim marks rows as published: set "
             "state.status or state.published_at to a column";
    case Strategy::kCursor:
      if (!state.transaction_id.empty()) return "";
      return "polling.strategy: cursor needs state.transaction_id, a column of "
             "type xid8 with DEFAULT pg_current_xact_id()";
    case Strategy::kDelete:
      return "";
  }
  return "";
}

// A row that is set aside is marked as failed. If the table cannot say that,
// the row is treated as published.
void CheckOnError(Section& root, const Config& config) {
  const bool is_whole =
      config.outbox.dead_letter.payload == DeadLetterOptions::Payload::kWhole;
  const bool is_delete = config.polling.strategy == Strategy::kDelete;
  if (config.polling.strategy == Strategy::kCursor) return;
  for (const TableOptions& table : EntriesOf(config.outbox)) {
    if (table.state.can_fail()) continue;
    if (const auto action = config.on_error.FirstThatLeavesOut()) {
      root.Fail(
          "on_error",
          fmt::format("{} would {} rows of {} that were not sent: give "
                      "the table state.status and state.failed, or use "
                      "dead_letter",
                      ToString(*action),
                      is_delete ? "delete" : "mark as published", table.name));
    }
    if (is_delete && !is_whole &&
        config.on_error.Uses(ErrorAction::kDeadLetter)) {
      root.Fail("dead_letter",
                fmt::format("the strategy deletes the only whole payload of a "
                            "dead letter from {}: set dead_letter.payload: "
                            "whole, or give the table state.failed",
                            table.name));
    }
  }
}

void CheckClaimChecks(Section& root, const Config& config) {
  if (config.polling.strategy != Strategy::kDelete) return;
  for (const TableOptions& table : EntriesOf(config.outbox)) {
    if (table.claim_check_above == 0) continue;
    root.Fail("outbox",
              fmt::format("claim_check_above leaves large payloads in {}, "
                          "whose rows polling.strategy: delete deletes: use "
                          "claim or cursor, or remove it",
                          table.name));
  }
}

// A table that walpost keeps; without its schema it is in `public`.
void ReadTableName(Section& section, const char* key, std::string& table) {
  section.Read(key, table);
  if (table.empty()) return;
  if (table.find('.') == std::string::npos) table = "public." + table;
  if (table.starts_with('.') || table.ends_with('.')) {
    section.Fail(key, "a table has a name, with or without its schema");
  }
}

}  // namespace

void ReadRowState(Section section, RowStateOptions& state) {
  section.Read("status", state.status);
  section.Read("pending", state.pending);
  section.Read("processing", state.processing);
  section.Read("published", state.published);
  section.Read("failed", state.failed);
  section.Read("published_at", state.published_at);
  section.Read("locked_until", state.locked_until);
  section.Read("heartbeat_at", state.heartbeat_at);
  section.Read("attempts", state.attempts);
  section.Read("last_error", state.last_error);
  section.Read("next_attempt_at", state.next_attempt_at);
  section.Read("transaction_id", state.transaction_id);
  section.Done();
  CheckDistinct(section, state);
  CheckValues(section, state);
  if (!state.locked_until.empty() && !state.heartbeat_at.empty()) {
    section.Fail("heartbeat_at",
                 "a lease is either locked_until or heartbeat_at, not both");
  }
}

void ReadPolling(Section section, PollingOptions& polling) {
  section.ReadChoice("strategy", polling.strategy, PollingOptions::kStrategies);
  section.Read("interval", polling.interval, milliseconds(1), minutes(60));
  section.ReadCount("batch_size", polling.batch_size, 1, kMaxRows);
  section.Read("notify", polling.notify);
  if (polling.notify.size() > kMaxChannelLength) {
    section.Fail("notify", "a channel's name has at most 63 letters");
  }
  section.Read("lease", polling.lease, seconds(1), minutes(60));
  ReadTableName(section, "lease_table", polling.lease_table);
  if (polling.has_lease_table() && polling.strategy == Strategy::kCursor) {
    section.Fail("lease_table",
                 "polling.strategy: cursor holds no rows: remove it, or use "
                 "claim or delete");
  }
  section.Read("transaction_timeout", polling.transaction_timeout,
               milliseconds(100), minutes(60));
  section.ReadCount("max_attempts", polling.max_attempts, 0, kMaxAttempts);
  section.Read("retry_backoff", polling.retry_backoff, milliseconds(1),
               minutes(60));
  section.Read("retry_backoff_max", polling.retry_backoff_max, milliseconds(1),
               minutes(60 * 24));
  if (polling.retry_backoff_max < polling.retry_backoff) {
    section.Fail("retry_backoff_max", "it is less than retry_backoff");
  }
  ReadTableName(section, "cursor_table", polling.cursor_table);
  section.Done();
}

void CheckPollingSource(Section& root, const Config& config) {
  if (config.source != Source::kPolling) return;
  if (config.outbox.messages.enabled()) {
    root.Fail("outbox",
              "logical messages are in the WAL only: remove outbox.messages, "
              "or set source: wal");
  }
  if (config.outbox.origin != OriginFilter::kAny) {
    root.Fail("postgres.origin",
              "none needs source: wal, because a row of the table does not "
              "show its origin: remove it, or set source: wal");
  }
  if (config.postgres.initial_snapshot) {
    root.Fail("snapshot",
              "polling publishes the rows that are there anyway: remove it");
  }
  if (config.postgres.replay.enabled()) {
    root.Fail("replay", "replay.window keeps WAL: it needs source: wal");
  }
  if (config.checkpoint.has_store()) {
    root.Fail("checkpoint",
              "polling keeps its state in the table: set checkpoint.store: "
              "none");
  }
  CheckOnError(root, config);
  CheckClaimChecks(root, config);
  std::vector<Section> tables = root.Child("outbox").Children("tables");
  const std::vector<TableOptions> entries = EntriesOf(config.outbox);
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string missing =
        MissingFor(config.polling.strategy, entries[i].state);
    if (missing.empty()) continue;
    if (i < tables.size()) {
      tables[i].Fail("state", missing);
    } else {
      root.Fail("outbox", missing);
    }
  }
}

}  // namespace walpost
