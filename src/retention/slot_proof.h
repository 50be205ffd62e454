// SlotProof: finds the rows that surely came through the slot.
//
// The gate (acknowledged_gate.h) says what the slot has confirmed. It does not
// say which rows the slot was given to send: not rows from before the slot, nor
// rows of a moment in which the publication did not cover the table, nor rows
// of a server that was restored. So only recorded facts make a row count as
// covered:
//
//   birth record    the transaction and time since which the slot sends rows,
//                   and under which definitions (record_proof.h)
//   no gap          in the record, in the checkpoint, or between them and the
//                   server (postgres/slot/gap_diagnosis.h): a gap stops
//                   retention
//
// Look after the mark of the gate is passed: then the result holds for all rows
// before the mark, whatever happens later.
//
// Owned by the Pruner.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/gap_diagnosis.h"
#include "retention/outbox_shape.h"
#include "retention/record_proof.h"

namespace walpost {

class SlotProof {
 public:
  using LoadedCheckpoint = absl::StatusOr<std::optional<Checkpoint>>;
  // Loads the checkpoint in the store. Empty: the relay has compared it with
  // the server, or there is no store.
  using CheckpointLoader =
      std::function<boost::asio::awaitable<LoadedCheckpoint>()>;

  // Both references outlive the object.
  SlotProof(const WalSourceOptions& postgres,
            const std::vector<TableOptions>& tables, CheckpointLoader loader)
      : postgres_(postgres),
        tables_(tables),
        load_checkpoint_(std::move(loader)) {}

  // Before this call, and after an error, nothing is covered. kUnavailable: try
  // again. kFailedPrecondition: there is no slot, or a gap; names the remedy.
  boost::asio::awaitable<absl::Status> Look(Connection& connection);
  // Checks the record and the definitions again, but not the checkpoint.
  boost::asio::awaitable<absl::Status> LookAgain(Connection& connection);

  // Why no row of a table is covered, with the remedy; empty: some are. By the
  // table's index into `tables`.
  std::string UnprovenReason(size_t table) const;
  // Start of the coverage, for people; if there is no doubt.
  std::string Since(size_t table) const { return proof_.Since(table); }

  // Condition of the covered rows (CoveredSql). `assumed_before`: the
  // operator's statement; empty: none. `origin`: which events the slot's stream
  // has sent.
  std::string Covered(size_t table, const OutboxShape& shape,
                      const OutboxShape::Leaf& leaf,
                      const std::string& assumed_before,
                      OriginFilter origin) const;

 private:
  boost::asio::awaitable<absl::Status> Diagnose(
      Connection& connection, std::optional<Checkpoint> checkpoint);
  boost::asio::awaitable<absl::Status> TakeRecord(
      Connection& connection, std::optional<BirthRecord> record);
  boost::asio::awaitable<absl::Status> CheckCheckpoint(GapDiagnosis diagnosis);

  const WalSourceOptions& postgres_;
  const std::vector<TableOptions>& tables_;
  CheckpointLoader load_checkpoint_;
  RecordProof proof_;
};

}  // namespace walpost
