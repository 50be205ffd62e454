// How to poll the outbox tables: keys `polling.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace walpost {

struct PollingOptions {
  enum class Strategy {
    kClaim,   // mark rows as ours, publish, mark them published
    kDelete,  // lock rows, publish, delete them
    kCursor,  // remember how far we are; the rows are never written
  };
  Strategy strategy = Strategy::kClaim;
  // Between two looks at a table that had nothing.
  std::chrono::milliseconds interval{1'000};
  // Most rows of one statement.
  size_t batch_size = 500;
  // LISTEN channel that wakes the poller; empty: none.
  std::string notify;
  // Of a claim, renewed at a third of it. A crashed poller's rows come back
  // after that time.
  std::chrono::milliseconds lease{30'000};
  // Most time that a transaction waits for Kafka, where rows are held by
  // their locks (`delete`, and `claim` on a table without a lease).
  std::chrono::milliseconds transaction_timeout{10'000};
  // Refusals after which a row is failed; 0: never.
  size_t max_attempts = 10;
  // Before a refused row is tried again: exponential with full jitter.
  std::chrono::milliseconds retry_backoff{1'000};
  std::chrono::milliseconds retry_backoff_max{300'000};
  // Where `cursor` keeps its positions (sql/cursor.sql); made when missing.
  std::string cursor_table = "public.walpost_cursor";
};

}  // namespace walpost
