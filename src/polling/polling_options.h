// Polling of the outbox tables: keys `polling.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/choices.h"

namespace walpost {

struct PollingOptions {
  enum class Strategy {
    kClaim,   // mark rows as ours, publish, mark them published
    kDelete,  // lock rows, publish, delete them
    kCursor,  // store a position; the rows are never written
  };
  static constexpr Choices<Strategy, 3> kStrategies = {{
      {"claim", Strategy::kClaim},
      {"delete", Strategy::kDelete},
      {"cursor", Strategy::kCursor},
  }};
  Strategy strategy = Strategy::kClaim;
  // Time between two looks at a table without pending rows.
  std::chrono::milliseconds interval{1'000};
  // Maximum rows per statement.
  size_t batch_size = 500;
  // LISTEN channel that wakes the poller; empty: none.
  std::string notify;
  // Lease of a claim, renewed at a third of it. A crashed poller's rows come
  // back after that time.
  std::chrono::milliseconds lease{30'000};
  // Table for the leases of `claim` and `delete` (sql/leases.sql),
  // schema.table; empty: they are in the column `locked_until` or
  // `heartbeat_at` of the rows.
  std::string lease_table;
  bool has_lease_table() const { return !lease_table.empty(); }
  // Maximum time that a transaction waits for Kafka, if rows are held by their
  // locks: the table has no column for a lease, and there is no lease table.
  std::chrono::milliseconds transaction_timeout{10'000};
  // Rejections after which a row is failed; 0: never.
  size_t max_attempts = 10;
  // Wait before a rejected row is tried again: exponential with full jitter.
  std::chrono::milliseconds retry_backoff{1'000};
  std::chrono::milliseconds retry_backoff_max{300'000};
  // Table for the positions of `cursor` (sql/cursor.sql); created if missing.
  std::string cursor_table = "public.walpost_cursor";
};

}  // namespace walpost
