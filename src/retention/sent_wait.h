// SentWait: waits until committed events are in Kafka.
//
// It waits for one LSN or one event: for a deployment, a test, or a service
// that reads its own writes. It has the proofs of retention: the slot's
// confirmation (acknowledged_gate.h), and that the row came through the slot
// (slot_proof.h); or what a poller has noted in the row or in its cursor.
//
// "In Kafka" includes what was set aside by a decision that is on record:
// skipped, parked, or a dead letter.
//
// One wait; then it is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "base/time.h"
#include "postgres/connect/connection.h"
#include "retention/acknowledged_gate.h"
#include "retention/pruner.h"

namespace walpost {

class SentWait {
 public:
  // Uses these options of a pass: postgres, tables, origin, proof, cursor_table
  // and load_checkpoint.
  SentWait(boost::asio::any_io_executor executor, Pruner::Options options);

  // Waits for everything that was committed before the LSN. kDeadlineExceeded:
  // not until `deadline`. kUnavailable: Postgres. kInvalidArgument: the LSN is
  // not of this slot. kFailedPrecondition: an operator must act; names the
  // remedy.
  boost::asio::awaitable<absl::Status> ForLsn(Lsn lsn, MonotonicTime deadline);

  struct Sent {
    std::string id;     // as the server prints it
    std::string table;  // schema.table
    // True if the row is gone. A poller deletes rows that it has sent, but
    // other programs may also delete rows.
    bool is_deleted = false;
  };
  // The event of the row with this id; `table`: of outbox.tables; empty: any.
  // Errors as above, besides: kNotFound: there has been no such row.
  // kInvalidArgument: several tables may have the id, now or later.
  // kFailedPrecondition: nothing proves that the row was sent.
  boost::asio::awaitable<absl::StatusOr<Sent>> ForEvent(std::string id,
                                                        std::string table,
                                                        MonotonicTime deadline);

 private:
  // A row as one look has found it.
  struct Row {
    size_t table = 0;      // its index in options_.tables
    std::string id;        // as the server prints it
    bool is_sent = false;  // by the table's proof; with kSlot: came through it
    std::string failure;   // why a poller has given it up; or empty
  };
  boost::asio::awaitable<absl::Status> Connect();
  void SetDeadline(MonotonicTime deadline);
  boost::asio::awaitable<absl::Status> RequireProof();
  absl::Status Unproven(const std::string& id, const Row& row) const;
  // `only`: a table; empty: any.
  boost::asio::awaitable<absl::StatusOr<std::optional<Row>>> FindRow(
      std::string id, std::string only);
  // Condition of the rows of a table, or of its partition, that were sent; with
  // the table as `o`.
  boost::asio::awaitable<absl::StatusOr<std::string>> SentSql(
      size_t table, OutboxShape::Leaf leaf);
  boost::asio::awaitable<absl::Status> WaitForSlot(std::string id,
                                                   MonotonicTime deadline);
  boost::asio::awaitable<void> Pause();

  boost::asio::any_io_executor executor_;
  Pruner::Options options_;
  AcknowledgedGate gate_;
  SlotProof proof_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace walpost
