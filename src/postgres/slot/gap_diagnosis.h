// GapDiagnosis: says whether events may have been lost between the slot and
// Kafka.
//
//   auto diagnosis = co_await DiagnoseGap(connection, {.slot = ..., ...});
//   if (diagnosis.ok() && diagnosis->kind == GapDiagnosis::Kind::kGap) ...
//
// For verbs that look at a slot while walpost is stopped: `recover` refuses to
// give up a healthy slot, and `prune` must not delete rows that may be missing
// in Kafka. `run` judges by itself (SourceSetup), with more facts: it sees what
// the slot sends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/checkpoint.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"
#include "postgres/slot/slot.h"

namespace walpost {

struct GapQuestion {
  std::string slot;
  std::string publication;
  std::span<const TableOptions> tables;  // outlives the coroutine
  // Checkpoint in the store (LoadCheckpoint); nullopt: none.
  std::optional<Checkpoint> checkpoint;
  // Kafka cluster behind kafka.brokers; empty: not asked.
  std::string kafka_cluster;
};

struct GapDiagnosis {
  enum class Kind {
    kNone,          // the known facts match
    kGap,           // events may not have been published
    kNothingKnown,  // no birth record and no checkpoint: nothing to compare
  };
  Kind kind = Kind::kNone;
  // kGap: the reason code of checkpoint/continuity.h, and the details in one or
  // two sentences with the remedy.
  std::string gap;
  std::string text;
  // A sentence about what could not be decided; empty: everything was.
  std::string doubt;
  // True if rows of a table were passed over, or may have been, whatever the
  // gap is.
  bool has_unsettled_table = false;
  // Facts found on the way. The coverage is that of the checkpoint and the
  // record.
  std::string known_coverage;
  std::vector<std::string> former_names;  // FormerNames (coverage.h)
  std::optional<SlotState> slot;
  std::optional<BirthRecord> birth;
};

// Reads the catalogs; writes nothing. Any connection is suitable. Only
// replication connections know where the WAL of an earlier timeline was left;
// in doubt a promotion counts as a gap. Errors come from the connection or a
// query.
boost::asio::awaitable<absl::StatusOr<GapDiagnosis>> DiagnoseGap(
    Connection& connection, GapQuestion question);

}  // namespace walpost
