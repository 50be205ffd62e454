// AcknowledgedGate: which committed rows the brokers have acknowledged.
//
// A row does not say where in the WAL its transaction committed, and its time
// is whatever the application says. So the gate is a pair, taken at one moment:
//
//     S, the snapshot of a statement        L, the insert position of the WAL,
//                                           read after S was taken
//
// A transaction is in the snapshot of others only after its commit record is
// in the WAL: what S sees committed lies before L. walpost confirms an LSN to
// its slot only when all before it is acknowledged. So once confirmed_flush_lsn
// has reached L, every row that S sees was acknowledged, whatever its time, and
// however long its transaction ran. (The insert position, not the write
// position: with synchronous_commit = off a commit is seen before it is
// written.)
//
// S is not kept open, which would hold back vacuum for as long as Kafka is
// away. Its oldest running transaction is remembered, and the rows of those
// before it are meant; rows that S sees as well wait for the next mark.
//
// A DELETE comes back as a change in the WAL, decoded by the walsender but
// not sent by a publication of inserts; and a row whose insert is still in
// front of the slot is sent from the WAL, deleted or not. That is why a wrong
// deletion would not lose an event while the slot lives: the gate is for the
// day when it does not, and `recover` reads the table.
//
// The slot confirms what it was given to send. Which rows those are is said by
// SlotProof (slot_proof.h).
//
// Owned by the Pruner; has a connection of its own.
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
#include "postgres/connection.h"

namespace walpost {

class AcknowledgedGate {
 public:
  struct Mark {
    Lsn lsn;
    std::string oldest_running;  // xid8
  };

  AcknowledgedGate(boost::asio::any_io_executor executor, std::string slot)
      : slot_(std::move(slot)), timer_(executor) {}

  boost::asio::awaitable<absl::Status> Connect(ServerOptions server);

  // What is committed now.
  boost::asio::awaitable<absl::StatusOr<Mark>> TakeMark();

  // Returns when all before the mark is acknowledged. kUnavailable: not so
  // until `deadline`. kFailedPrecondition: there is no such slot, or it is
  // lost.
  boost::asio::awaitable<absl::Status> WaitUntilPassed(Mark mark,
                                                       MonotonicTime deadline);

  // Ends a wait at its next look (kCancelled).
  void Stop() { stopped_ = true; }

 private:
  boost::asio::awaitable<absl::StatusOr<Lsn>> Confirmed();

  std::string slot_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Connection> connection_;
  bool stopped_ = false;
};

}  // namespace walpost
