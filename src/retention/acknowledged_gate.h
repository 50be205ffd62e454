// AcknowledgedGate: finds out which committed rows the brokers have
// acknowledged.
//
// A row does not say where in the WAL its transaction committed, and its time
// is set by the application. So the gate is a pair, taken at one moment:
//
//     S, the snapshot of a statement        L, the insert position of the WAL,
//                                           read after S was taken
//
// A transaction is visible in other snapshots only after its commit record is
// in the WAL: what S sees committed lies before L. walpost confirms an LSN to
// its slot only when everything before it is acknowledged. So once
// confirmed_flush_lsn has reached L, every row that S sees was acknowledged,
// whatever its time, and however long its transaction ran. (The insert
// position, not the write position: with synchronous_commit = off a commit is
// visible before it is written.)
//
// S is not kept open, because that would hold back vacuum while Kafka is away.
// Only its oldest running transaction is kept: the gate covers rows of earlier
// transactions. Other rows that S sees wait for the next mark.
//
// A DELETE is also a change in the WAL, which the walsender decodes, but does
// not send with a publication of inserts. A row whose insert is still in front
// of the slot is sent from the WAL, deleted or not. So a wrong deletion would
// not lose an event while the slot exists: the gate is for the day when it does
// not, and `recover` reads the table.
//
// The slot confirms the rows that it was given to send. SlotProof
// (slot_proof.h) says which rows those are.
//
// Owned by the object that waits; has its own connection.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "base/time.h"
#include "postgres/connect/connection.h"

namespace walpost {

class AcknowledgedGate {
 public:
  struct Mark {
    Lsn lsn;
    std::string oldest_running;  // xid8
  };

  // `task` names its session.
  AcknowledgedGate(boost::asio::any_io_executor executor, std::string slot,
                   std::string task)
      : slot_(std::move(slot)), task_(std::move(task)), timer_(executor) {}

  boost::asio::awaitable<absl::Status> Connect(ServerOptions server);

  // Marks the rows committed now.
  boost::asio::awaitable<absl::StatusOr<Mark>> TakeMark();

  // Returns when everything before the mark is acknowledged. kDeadlineExceeded:
  // not until `deadline`. kUnavailable: Postgres. kFailedPrecondition: the slot
  // does not exist, or is lost.
  boost::asio::awaitable<absl::Status> WaitUntilPassed(Mark mark,
                                                       MonotonicTime deadline);

  // Stops a wait at its next look (kCancelled).
  void Stop() { stopped_ = true; }

 private:
  boost::asio::awaitable<absl::StatusOr<Lsn>> Confirmed(
      MonotonicTime answer_by);

  std::string slot_;
  std::string task_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Connection> connection_;
  bool stopped_ = false;
};

}  // namespace walpost
