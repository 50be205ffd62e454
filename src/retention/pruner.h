// Pruner: one pass over the outbox tables that removes all old rows that were
// sent.
//
//   connect ─▶ add partitions ─▶ mark ─▶ wait until it is acknowledged
//     ─▶ look for a gap ─▶ for each table: drop past partitions, delete old
//     rows
//
// Rows that were not sent stay, whatever their age (acknowledged_gate.h). So do
// rows that are not known to have come through the slot (slot_proof.h). Both
// are counted; if a gap stops the pass, all old rows are. At most one pass runs
// on a database at a time.
//
// Runs on the given executor; outlives its coroutine.
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
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "retention/acknowledged_gate.h"
#include "retention/outbox_shape.h"
#include "retention/retention_options.h"
#include "retention/row_pruner.h"
#include "retention/slot_proof.h"

namespace walpost {

// Results of a pass for one table; in a dry run, expected results.
struct Pruned {
  std::string table;
  RowPruner::Counts rows;
  uint64_t partitions_made = 0;
  std::vector<std::string> dropped;
  std::vector<std::string> not_dropped;  // "name: reason"
  // Why rows have no proof that they were sent, and the remedy; empty if no row
  // is kept for that reason.
  std::string doubt;
};

class Pruner {
 public:
  struct Options {
    WalSourceOptions postgres;
    std::vector<TableOptions> tables;
    OriginFilter origin = OriginFilter::kAny;
    RetentionOptions retention;
    SentProof proof = SentProof::kSlot;
    std::string cursor_table;  // schema.table, for SentProof::kCursor
    // For SentProof::kSlot: the checkpoint store; and the operator's time
    // before which rows were sent, as an SQL expression of type timestamptz.
    SlotProof::CheckpointLoader load_checkpoint;
    std::string assume_sent_before;
    // Asked after the mark is passed and before each table; false stops the
    // pass (kCancelled). Empty: always true.
    std::function<bool()> may_go_on;
    RowPruner::Mode mode = RowPruner::Mode::kDelete;
    // Maximum time to wait for the brokers at the beginning.
    std::chrono::milliseconds gate_limit{30'000};
  };

  Pruner(boost::asio::any_io_executor executor, Options options);

  // kUnavailable: Postgres, or rows are not acknowledged yet; try again later.
  // kFailedPrecondition: an operator must act. kCancelled: Stop.
  boost::asio::awaitable<absl::Status> Run();

  // Results so far, also while it runs and after an error.
  const std::vector<Pruned>& pruned() const { return pruned_; }

  // Older rows are deleted: a timestamp as the server prints it.
  const std::string& limit() const { return limit_; }

  // Stops the pass after the current batch.
  void Stop();

 private:
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> Lock();
  // Reads the table's shape, and creates the partitions that it will need,
  // whatever happens to the old ones.
  boost::asio::awaitable<absl::Status> PrepareTable(size_t index);
  boost::asio::awaitable<absl::Status> ProveBySlot();
  boost::asio::awaitable<absl::Status> OpenGate();
  // Tables are given by their index into options_.tables.
  boost::asio::awaitable<absl::Status> PruneTables();
  boost::asio::awaitable<absl::Status> PruneTable(size_t index);
  boost::asio::awaitable<absl::Status> PrunePartitions(size_t index,
                                                       std::string sent);
  boost::asio::awaitable<absl::Status> PruneRows(size_t index,
                                                 std::string sent);
  // Adds the remedy if a right is missing; `table` is quoted for SQL.
  absl::Status WithGrant(const absl::Status& status, std::string_view table);
  // Counts old rows; deletes nothing.
  boost::asio::awaitable<absl::Status> CountKept();
  // Condition of this table's rows that were sent, if the slot is not the
  // proof.
  boost::asio::awaitable<absl::StatusOr<std::string>> SentSql(
      TableOptions table);
  PruneRule RuleOf(size_t index, const OutboxShape::Leaf& leaf,
                   const std::string& sent) const;
  // OK if the pass may continue.
  absl::Status CheckOn() const;
  // kFailedPrecondition: no row of any table is covered.
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
  // For options_.tables, like pruned_; nullopt: reading it failed.
  std::vector<std::optional<OutboxShape>> shapes_;
  std::vector<Pruned> pruned_;
  bool stopped_ = false;
  std::function<bool()> is_stopped_ = [this] { return stopped_; };
};

}  // namespace walpost
