// Checkpoint: our own durable resume point, the stored LSN.
//
// It says up to which LSN everything is acknowledged. It is valid for one slot
// of one cluster. Its serialized form is a published contract
// (proto/walpost/v1/checkpoint.proto).
#pragma once

#include <cstdint>
#include <string>

#include "base/lsn.h"
#include "base/time.h"
#include "base/xid.h"
#include "checkpoint/xmin_horizon.h"
#include "outbox/position.h"

namespace walpost {

struct Checkpoint {
  // System that these LSNs belong to (IDENTIFY_SYSTEM).
  std::string system_identifier;
  uint32_t timeline = 0;
  std::string slot;
  // Consistent point of the slot, or its position when walpost first saw it.
  // Another slot of the same name has a different one.
  Lsn birth;

  // Everything that commits before it is acknowledged. It was, or was about to
  // be, confirmed to Postgres.
  Lsn confirmed;
  // The newest event up to which everything is acknowledged; it may lie in the
  // middle of a transaction that is not confirmed yet. Zero: none yet. Ordinal
  // 0 at an LSN: events that commit before it are acknowledged, and no event is
  // known (Renumber).
  Position position;
  // Transaction that committed at position.commit_lsn. After the WAL has
  // forked, a different one stands there. Xid 0: not known (older release).
  Xid commit_xid;
  WallTime commit_time{};
  // Numbering that the ordinal of `position` counts in (outbox/numbering.h); 0:
  // not known (older release).
  uint64_t numbering = 0;
  // For `walpost recover`; unknown if no table says who inserted a row.
  XminHorizon horizon;

  // Coverage of the publication when this was written (Coverage::ToString);
  // empty: not known.
  std::string coverage;
  // Kafka cluster that acknowledged; empty: not known.
  std::string kafka_cluster;
  // Its topics with acknowledged events, with their ids, as TopicIds writes
  // them; a topic that is not listed is not known.
  std::string kafka_topics;
  // A gap that waits for an operator: its reason code, a space and the known
  // details. Empty: none.
  std::string gap;

  WallTime written_at{};

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Converts the checkpoint to `numbering`. An ordinal of another numbering has
// no meaning, so the position is dropped: its transaction is sent again as a
// whole, not in a part that may be the wrong one. The horizon is also dropped,
// because rows of another table may not have been events. True if events may be
// repeated by that.
bool Renumber(Checkpoint& checkpoint, uint64_t numbering);

// True if `one` is further than `other` of the same slot and cluster: it has a
// later timeline, else a younger slot, else a later position. Positions of
// different numberings do not compare, nor do checkpoints of two clusters.
bool IsLater(const Checkpoint& one, const Checkpoint& other);

}  // namespace walpost
