// Checkpoint: our own durable resume point, the stored LSN.
//
// It says up to where everything is acknowledged, and of which slot of which
// cluster that is said; it is worth nothing anywhere else. Its serialized form
// is a published contract (proto/walpost/v1/checkpoint.proto).
#pragma once

#include <cstdint>
#include <string>

#include "base/lsn.h"
#include "base/time.h"
#include "base/xid.h"
#include "delivery/transaction_horizon.h"
#include "outbox/position.h"

namespace walpost {

struct Checkpoint {
  // Whose LSNs these are: IDENTIFY_SYSTEM.
  std::string system_identifier;
  uint32_t timeline = 0;
  std::string slot;
  // The consistent point of the slot, or where it stood when walpost first saw
  // it: another slot of the same name has another one.
  Lsn birth;

  // Everything that commits before it is acknowledged. A value that was, or
  // was about to be, told to Postgres.
  Lsn confirmed;
  // The newest event up to which everything is acknowledged; it may lie in the
  // middle of a transaction that is not confirmed yet. Zero: none yet. Ordinal
  // 0 at an LSN: events that commit before it are acknowledged, and no event is
  // known (Renumber).
  Position position;
  // Which transaction committed at position.commit_lsn: on WAL that has forked
  // another one stands there. Xid 0: not known, as of an older release.
  Xid commit_xid;
  WallTime commit_time{};
  // By which the ordinal of `position` counts (outbox/numbering.h); 0: not
  // known, as of an older release.
  uint64_t numbering = 0;
  // For `walpost recover`; not known where no table says who inserted a row.
  TransactionHorizon horizon;

  // What the publication covered when this was written, as Coverage spells it;
  // empty: not known.
  std::string coverage;
  // The Kafka cluster that acknowledged; empty: not known.
  std::string kafka_cluster;
  // Its topics with acknowledged events, and their ids, as TopicIds spells
  // them; a topic that is not in it is not known.
  std::string kafka_topics;
  // A gap that waits for an operator: its reason code, a space and what is
  // known of it. Empty: none.
  std::string gap;

  WallTime written_at{};

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Makes the checkpoint speak in `numbering`. The ordinal of another one means
// nothing in it, so the position goes: the transaction that it lies in is sent
// again as a whole, rather than in a part that may be the wrong one. So does
// the horizon: rows of another table may not have been events. True when that
// may repeat something.
bool Renumber(Checkpoint& checkpoint, uint64_t numbering);

// Whether one is further than another one of the same slot and cluster: of a
// later timeline, else of a younger slot, else further on. Positions of
// different numberings do not compare, nor do checkpoints of two clusters.
bool IsLater(const Checkpoint& one, const Checkpoint& other);

}  // namespace walpost
