// GapDiagnosis: whether events may have been lost between the slot and Kafka.
//
//   auto diagnosis = co_await DiagnoseGap(connection, {.slot = ..., ...});
//   if (diagnosis.ok() && diagnosis->kind == GapDiagnosis::Kind::kGap) ...
//
// For verbs that look at a slot while walpost is stopped: `recover` refuses to
// give up a healthy slot, and `prune` must not delete what a gap may have kept
// from Kafka. `run` judges by itself (SourceSetup), with more than is asked
// here: it sees what the slot sends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "delivery/checkpoint.h"
#include "outbox/options.h"
#include "postgres/birth_record.h"
#include "postgres/connection.h"
#include "postgres/slot.h"

namespace walpost {

struct GapQuestion {
  std::string slot;
  std::string publication;
  std::span<const TableOptions> tables;  // outlives the coroutine
  // What the checkpoint store holds (LoadCheckpoint); nullopt: nothing.
  std::optional<Checkpoint> checkpoint;
  // The cluster that kafka.brokers leads to; empty: not asked.
  std::string kafka_cluster;
};

struct GapDiagnosis {
  enum class Kind {
    kNone,          // what is known fits together
    kGap,           // events may be missing in Kafka
    kNothingKnown,  // no birth record and no checkpoint: nothing to compare
  };
  Kind kind = Kind::kNone;
  // kGap: the reason code of delivery/continuity.h, and what is known of it,
  // one sentence or two with the remedy.
  std::string gap;
  std::string text;
  // What was found on the way.
  std::optional<SlotState> slot;
  std::optional<BirthRecord> birth;
};

// Asks the catalogs; writes nothing. Any connection will do; where the WAL of
// an earlier timeline was left is known on replication connections only, and
// in doubt a promotion counts as a gap. Errors are those of the connection or
// of a query.
boost::asio::awaitable<absl::StatusOr<GapDiagnosis>> DiagnoseGap(
    Connection& connection, GapQuestion question);

}  // namespace walpost
