#include "checkpoint/checkpoint_scope.h"

#include <utility>

namespace walpost {

Checkpoint ContinueFrom(const std::optional<Checkpoint>& loaded,
                        CheckpointScope owner) {
  Checkpoint next;
  if (loaded && loaded->timeline == owner.timeline) next = *loaded;
  next.system_identifier = std::move(owner.system_identifier);
  next.timeline = owner.timeline;
  next.slot = std::move(owner.slot);
  next.numbering = owner.numbering;
  next.birth = owner.birth;
  next.coverage = std::move(owner.coverage);
  if (!owner.kafka_cluster.empty()) {
    next.kafka_cluster = std::move(owner.kafka_cluster);
  }
  return next;
}

Checkpoint BeginAtBirth(CheckpointScope owner) {
  Checkpoint begin = ContinueFrom(std::nullopt, std::move(owner));
  begin.confirmed = begin.birth;
  return begin;
}

Lsn DeliveredUpTo(const Checkpoint& checkpoint, const CheckpointScope& owner,
                  std::string_view gap) {
  const bool is_of_slot =
      checkpoint.system_identifier == owner.system_identifier &&
      checkpoint.timeline == owner.timeline && checkpoint.slot == owner.slot;
  if (!is_of_slot || gap == kGapKafkaReplaced) return Lsn();
  return checkpoint.position.commit_lsn;
}

std::optional<Checkpoint> CheckpointOfGap(
    const Gap& gap, const std::optional<Checkpoint>& loaded,
    const Checkpoint& saved, CheckpointScope owner, WallTime now,
    ForeignCheckpoint foreign) {
  const bool is_foreign = loaded && !owner.system_identifier.empty() &&
                          loaded->system_identifier != owner.system_identifier;
  if (is_foreign && foreign == ForeignCheckpoint::kInOurPlace) {
    return std::nullopt;
  }
  const std::string coverage = owner.coverage;
  Checkpoint checkpoint = loaded && !is_foreign
                              ? *loaded
                              : ContinueFrom(std::nullopt, std::move(owner));
  if (!checkpoint.gap.empty()) return std::nullopt;
  const bool is_of_table = gap.code == kGapTablePassedOver;
  if (is_of_table && loaded && loaded->coverage == coverage) {
    return std::nullopt;
  }
  if (IsLater(saved, checkpoint)) checkpoint = saved;
  if (checkpoint.system_identifier.empty()) return std::nullopt;
  if (is_of_table) {
    checkpoint.coverage = coverage;
  } else {
    checkpoint.gap = ToText(gap);
  }
  checkpoint.written_at = now;
  return checkpoint;
}

}  // namespace walpost
