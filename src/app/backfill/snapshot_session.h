// SnapshotSession: the connection of the initial snapshot. It checks whether a
// snapshot is due, creates the slot and its birth record, and leaves a
// transaction open that shows the rows to publish. A table that is added to
// outbox.tables later also has one snapshot.
//
// Owned by InitialSnapshot. It outlives its connections: it remembers that this
// process has created the slot.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/coverage.h"
#include "checkpoint/slot_history.h"
#include "config/config.h"
#include "postgres/connect/connection.h"
#include "postgres/slot/observed_slot.h"
#include "postgres/slot/slot.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

class SnapshotSession {
 public:
  // `config` outlives this object.
  SnapshotSession(boost::asio::any_io_executor executor, const Config& config)
      : executor_(executor), config_(config) {}

  // Connects, and returns the history of the slot.
  boost::asio::awaitable<absl::StatusOr<SlotHistory>> Open();
  // Tables that no walpost has taken up yet, of a slot that was streamed from.
  // Tables whose rows were passed over are a gap, and not among them.
  const std::vector<Coverage::Table>& new_tables() const { return new_tables_; }
  const std::optional<SlotState>& slot() const { return sight_.slot; }
  const std::optional<BirthRecord>& birth() const { return sight_.birth; }
  uint32_t timeline() const { return sight_.timeline; }
  const std::string& system_identifier() const {
    return sight_.system_identifier;
  }

  // Checks for `walpost check` whether Begin would be rejected: connects and
  // reads, and creates nothing. kFailedPrecondition: as Begin.
  boost::asio::awaitable<absl::Status> CheckBefore();

  // Opens the transaction. With SlotHistory::kNone it creates the slot, records
  // its birth, and shows exactly what committed before the slot begins; else it
  // shows the present rows. With kUsed only the new tables matter.
  //
  // kUnavailable with SQLSTATE 55006: another instance does this now.
  // kFailedPrecondition: the role may not do it, or it is not known what was
  // streamed from the slot; names the remedy.
  boost::asio::awaitable<absl::Status> Begin(SlotHistory history);
  // The slot that the snapshot is for; after Begin. A slot that is made later
  // under the same name is another one.
  struct Target {
    std::string system_identifier;
    Lsn begins_at;
    // Its new tables, and where the slot stands; empty: all tables.
    std::vector<Coverage::Table> tables;
    Lsn stands_at;
    friend bool operator==(const Target&, const Target&) = default;
  };
  const Target& target() const { return target_; }
  // LSN before which all rows that the transaction shows were committed; after
  // Begin.
  Lsn visible_before() const { return visible_before_; }
  // True if the transaction shows exactly what committed before the slot
  // begins.
  bool is_exact() const { return is_exact_; }
  // Fails if the connection is lost, and the lock with it.
  boost::asio::awaitable<absl::Status> Check();
  // Valid from Open to Close.
  Connection& connection() { return *connection_; }

  // Ends the transaction.
  boost::asio::awaitable<absl::Status> End();
  // Records that everything from before the slot, or in the new tables, was
  // published; after End, or after another Open.
  //
  // kUnavailable: call it again. kAborted: the slot is missing, or another one
  // than target(). Other errors: it is the slot, and cannot be put on record.
  boost::asio::awaitable<absl::Status> Record();

  // True if the server has closed the connection.
  bool is_lost() const;
  // Cancels the pending operation; the connection is unusable afterwards.
  void Interrupt();
  void Close() { connection_.reset(); }

 private:
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> PinSettings();
  boost::asio::awaitable<absl::StatusOr<SlotHistory>> FindHistory();
  boost::asio::awaitable<absl::Status> FindNewTables();
  boost::asio::awaitable<absl::StatusOr<bool>> WasPassedOver(std::string table);
  bool IsMeant(const std::string& table) const;
  BirthRecord RecordOf(BirthRecord record) const;
  boost::asio::awaitable<absl::Status> BeginTransaction(SlotHistory history);
  boost::asio::awaitable<absl::Status> Lock();
  boost::asio::awaitable<absl::Status> RequireReadableTables();
  boost::asio::awaitable<absl::Status> RequireReadable(TableOptions table);
  boost::asio::awaitable<absl::Status> RequireOrigins(TableScan& scan,
                                                      std::string table);
  boost::asio::awaitable<absl::Status> RequireOwnPublication();
  absl::Status NotOwner(const std::string& role) const;
  boost::asio::awaitable<absl::Status> MakeSlot();
  boost::asio::awaitable<absl::Status> RecordBirth();
  boost::asio::awaitable<absl::Status> Execute(std::string sql);
  bool SlotBeginsAt(Lsn begin) const;
  absl::Status UnknownSlot() const;

  boost::asio::any_io_executor executor_;
  const Config& config_;
  std::unique_ptr<Connection> connection_;
  bool interrupted_ = false;
  ObservedSlot sight_;
  std::vector<Coverage::Table> new_tables_;
  // Consistent point of the slot that this process created; 0/0: none.
  Lsn made_at_;
  Target target_;
  Lsn visible_before_;
  bool is_exact_ = false;
};

}  // namespace walpost
