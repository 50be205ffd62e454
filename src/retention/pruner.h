// Pruner: one pass over the outbox tables, after which nothing old that was
// sent is left.
//
//   connect ─▶ add partitions ─▶ mark ─▶ wait until it is acknowledged
//     ─▶ look for a gap ─▶ for each table: drop past partitions, delete old
//     rows
//
// What was not sent stays, whatever its age (acknowledged_gate.h), and so does
// what is not known to have come through the slot (slot_proof.h). Both are
// counted; so is everything old where a gap stops the pass. At most one pass
// runs on a database at a time.
//
// Runs on the executor that it is given; outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connection.h"
#include "postgres/source_options.h"
#include "retention/acknowledged_gate.h"
#include "retention/outbox_shape.h"
#include "retention/retention_options.h"
#include "retention/row_pruner.h"
#include "retention/slot_proof.h"

namespace walpost {

// What a pass did to one table, or would do.
struct Pruned {
  std::string table;
  RowPruner::Counts rows;
  uint64_t partitions_made = 0;
  std::vector<std::string> dropped;
  std::vector<std::string> not_dropped;  // "name: reason"
  // Why rows have no proof that they were sent, and the way out; empty where
  // none is kept for that.
  std::string doubt;
};

class Pruner {
 public:
  struct Options {
    WalSourceOptions postgres;
    std::vector<TableOptions> tables;
    RetentionOptions retention;
    SentProof proof = SentProof::kSlot;
    std::string cursor_table;  // schema.table, for SentProof::kCursor
    // For SentProof::kSlot: the checkpoint store, and the operator's word that
    // rows before a time were sent, as an SQL expression of type timestamptz.
    SlotProof::CheckpointLoader load_checkpoint;
    std::string assume_sent_before;
    // Asked after the mark is passed and before each table; false ends the pass
    // (kCancelled). Empty: always.
    std::function<bool()> may_go_on;
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

  // Rows that are older than this go: a timestamp as the server prints it.
  const std::string& limit() const { return limit_; }

  // Ends the pass after the batch that it is at.
  void Stop();

 private:
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> Lock();
  // Reads its shape, and makes the partitions that it will need: whatever
  // becomes of the old ones.
  boost::asio::awaitable<absl::Status> PrepareTable(size_t index);
  boost::asio::awaitable<absl::Status> ProveBySlot();
  boost::asio::awaitable<absl::Status> OpenGate();
  // By their index into options_.tables.
  boost::asio::awaitable<absl::Status> PruneTables();
  boost::asio::awaitable<absl::Status> PruneTable(size_t index);
  boost::asio::awaitable<absl::Status> PrunePartitions(size_t index,
                                                       std::string sent);
  boost::asio::awaitable<absl::Status> PruneRows(size_t index,
                                                 std::string sent);
  // Counts what is old; nothing goes.
  // With the remedy where a right is missing; `table` as SQL spells it.
  absl::Status WithGrant(const absl::Status& status, std::string_view table);
  boost::asio::awaitable<absl::Status> CountKept();
  // The condition of this table's rows that were sent, where it is not the slot
  // that proves it.
  boost::asio::awaitable<absl::StatusOr<std::string>> SentSql(
      TableOptions table);
  PruneRule RuleOf(size_t index, const OutboxShape::Leaf& leaf,
                   const std::string& sent) const;
  // May the pass go on?
  absl::Status CheckOn() const;
  // kFailedPrecondition: not one row of any table is covered.
  absl::Status CheckAnyProof() const;
  void NoteDoubt(size_t index);

  bool is_dry() const { return options_.mode == RowPruner::Mode::kDryRun; }

  boost::asio::any_io_executor executor_;
  Options options_;
  AcknowledgedGate gate_;
  std::unique_ptr<Connection> connection_;
  std::string limit_;           // timestamp, as the server prints it
  std::string assumed_before_;  // likewise; empty: none
  SlotProof proof_;
  AcknowledgedGate::Mark mark_;
  // Of options_.tables, as pruned_ is; none of those that failed.
  std::vector<std::optional<OutboxShape>> shapes_;
  std::vector<Pruned> pruned_;
  bool stopped_ = false;
  std::function<bool()> is_stopped_ = [this] { return stopped_; };
};

}  // namespace walpost
