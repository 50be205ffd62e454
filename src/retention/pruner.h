// Pruner: one pass over the outbox tables, after which nothing old that was
// sent is left.
//
//   connect ─▶ add partitions ─▶ mark ─▶ wait until it is acknowledged
//     ─▶ for each table: drop past partitions, delete old rows
//
// What was not sent stays, whatever its age (acknowledged_gate.h). At most one
// pass runs on a database at a time.
//
// Runs on the executor that it is given; outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connection.h"
#include "postgres/source_options.h"
#include "retention/acknowledged_gate.h"
#include "retention/outbox_shape.h"
#include "retention/retention_options.h"
#include "retention/row_pruner.h"

namespace walpost {

// What a pass did to one table, or would do.
struct Pruned {
  std::string table;
  RowPruner::Counts rows;
  uint64_t partitions_made = 0;
  std::vector<std::string> dropped;
  std::vector<std::string> not_dropped;  // "name: reason"
};

class Pruner {
 public:
  struct Options {
    WalSourceOptions postgres;
    std::vector<TableOptions> tables;
    RetentionOptions retention;
    SentProof proof = SentProof::kSlot;
    std::string cursor_table;  // schema.table, for SentProof::kCursor
    RowPruner::Mode mode = RowPruner::Mode::kDelete;
    // Most time that is waited for the brokers at the beginning.
    std::chrono::milliseconds gate_limit{30'000};
  };

  Pruner(boost::asio::any_io_executor executor, Options options);

  // kUnavailable: Postgres, or what is committed is not acknowledged yet; try
  // again later. kFailedPrecondition: an operator must act. kCancelled: Stop.
  boost::asio::awaitable<absl::Status> Run();

  // What was done so far, also while it runs and after an error.
  const std::vector<Pruned>& pruned() const { return pruned_; }

  // Ends the pass after the batch that it is at.
  void Stop();

 private:
  boost::asio::awaitable<absl::Status> Connect();
  // Reads its shape, and makes the partitions that it will need: whatever
  // becomes of the old ones.
  boost::asio::awaitable<absl::Status> PrepareTable(size_t index);
  boost::asio::awaitable<absl::Status> OpenGate();
  // The condition of this table's rows that were sent.
  boost::asio::awaitable<absl::StatusOr<std::string>> SentSql(
      TableOptions table);
  // By its index into options_.tables.
  boost::asio::awaitable<absl::Status> PruneTable(size_t index);
  boost::asio::awaitable<absl::Status> PrunePartitions(const OutboxShape& shape,
                                                       std::string sent,
                                                       Pruned& pruned);
  boost::asio::awaitable<absl::Status> PruneRows(const OutboxShape& shape,
                                                 std::string sent,
                                                 Pruned& pruned);

  boost::asio::any_io_executor executor_;
  Options options_;
  AcknowledgedGate gate_;
  std::unique_ptr<Connection> connection_;
  std::string limit_;  // timestamp, as the server prints it
  AcknowledgedGate::Mark mark_;
  // Of options_.tables, as pruned_ is; none of those that failed.
  std::vector<std::optional<OutboxShape>> shapes_;
  std::vector<Pruned> pruned_;
  bool stopped_ = false;
  std::function<bool()> is_stopped_ = [this] { return stopped_; };
};

}  // namespace walpost
