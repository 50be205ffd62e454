// CheckpointScope: whose checkpoints a session writes, and how they continue
// from the stored one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/lsn.h"
#include "base/time.h"
#include "checkpoint/checkpoint.h"
#include "delivery/gap.h"

namespace walpost {

struct CheckpointScope {
  std::string system_identifier;
  uint32_t timeline = 0;
  std::string slot;
  Lsn birth;
  uint64_t numbering = 0;
  std::string coverage;
  std::string kafka_cluster;  // empty: not known yet
};

// The checkpoint that a session of `owner` continues from; `loaded`: the stored
// one. LSNs from before a promotion are void.
Checkpoint ContinueFrom(const std::optional<Checkpoint>& loaded,
                        CheckpointScope owner);

// The checkpoint of a slot at whose birth an operator lets the stream begin:
// everything before it is done.
Checkpoint BeginAtBirth(CheckpointScope owner);

// The LSN before which all transactions of the owner's slot are in Kafka,
// although the slot may still have them. 0/0: the checkpoint does not prove
// that, because it is of another server, timeline or slot, or because `gap`
// means that these events are no longer in Kafka.
Lsn DeliveredUpTo(const Checkpoint& checkpoint, const CheckpointScope& owner,
                  std::string_view gap);

// Where a store keeps a checkpoint of another system with our slot's name.
enum class ForeignCheckpoint {
  kApart,       // beside ours
  kInOurPlace,  // ours would replace it
};

// The checkpoint that keeps `gap`; nullopt: it is kept already, or cannot be,
// or nothing is known of the source yet. The stored values stay as they are,
// because a gap is judged by them; `saved`: the last one that this process has
// stored. If nothing was stored yet, the new checkpoint has at least the gap.
// The gap of a table is kept as the rows that were passed over, by which it is
// judged.
//
// We never write into the checkpoint of another system, which may be in use
// there. As long as it is in our place, it shows the gap by itself.
std::optional<Checkpoint> CheckpointOfGap(
    const Gap& gap, const std::optional<Checkpoint>& loaded,
    const Checkpoint& saved, CheckpointScope owner, WallTime now,
    ForeignCheckpoint foreign = ForeignCheckpoint::kInOurPlace);

}  // namespace walpost
