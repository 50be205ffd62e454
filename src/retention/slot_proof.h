// SlotProof: which rows are sure to have come through the slot.
//
// The gate (acknowledged_gate.h) says what the slot has confirmed. It does not
// say what the slot was given to send: not the rows from before the slot, nor
// those of a moment in which the publication did not cover the table, nor those
// of a server that was restored. So a row counts as covered only by what is on
// record:
//
//   birth record    since which transaction and time the slot sends rows, and
//                   under which definitions (record_proof.h)
//   no gap          in the record, in the checkpoint, or between them and the
//                   server (postgres/gap_diagnosis.h): a gap stops retention
//
// Look after the mark of the gate is passed: then what it saw holds for all
// rows that the mark covers, whatever happens later.
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
#include "delivery/checkpoint.h"
#include "outbox/options.h"
#include "postgres/birth_record.h"
#include "postgres/connection.h"
#include "postgres/gap_diagnosis.h"
#include "postgres/source_options.h"
#include "retention/outbox_shape.h"
#include "retention/record_proof.h"

namespace walpost {

class SlotProof {
 public:
  using LoadedCheckpoint = absl::StatusOr<std::optional<Checkpoint>>;
  // What the checkpoint store holds now. Empty: the relay has compared it with
  // the server, or there is none.
  using CheckpointLoader =
      std::function<boost::asio::awaitable<LoadedCheckpoint>()>;

  // Both outlive the object.
  SlotProof(const WalSourceOptions& postgres,
            const std::vector<TableOptions>& tables, CheckpointLoader loader)
      : postgres_(postgres),
        tables_(tables),
        load_checkpoint_(std::move(loader)) {}

  // Before this, nothing is covered; after an error neither. kUnavailable: try
  // again. kFailedPrecondition: there is no slot, or a gap; names the remedy.
  boost::asio::awaitable<absl::Status> Look(Connection& connection);
  // Looks at the record and the definitions again, not at the checkpoint.
  boost::asio::awaitable<absl::Status> LookAgain(Connection& connection);

  // Why not one row of a table is covered, with the remedy; empty: some are.
  // By its index into `tables`.
  std::string Doubt(size_t table) const;
  // Since when rows are covered, for people; where there is no doubt.
  std::string Since() const { return proof_.Since(); }

  // The condition of the covered rows (CoveredSql). `assumed_before`: the
  // operator's word; empty: none.
  std::string Covered(size_t table, const OutboxShape& shape,
                      const OutboxShape::Leaf& leaf,
                      const std::string& assumed_before) const;

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
