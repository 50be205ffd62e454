#include "kafka/producer/first_record_barrier.h"

namespace walpost {

bool FirstRecordBarrier::MayProduce(int32_t partition) const {
  if (HasStarted(partition)) return true;
  return std::none_of(
      in_flight_.begin(), in_flight_.end(), [&](const First& first) {
        return first.partition == partition || first.partition == kUnassigned;
      });
}

void FirstRecordBarrier::OnProduced(int32_t partition, Sequence sequence) {
  if (!HasStarted(partition)) in_flight_.push_back({partition, sequence});
}

void FirstRecordBarrier::OnAcknowledged(int32_t partition, Sequence sequence) {
  if (!Remove(sequence) || partition < 0 || HasStarted(partition)) return;
  const auto index = static_cast<size_t>(partition);
  if (index >= has_started_.size()) has_started_.resize(index + 1);
  has_started_[index] = true;
  ++started_;
}

void FirstRecordBarrier::OnNotDelivered(Sequence sequence) { Remove(sequence); }

bool FirstRecordBarrier::Remove(Sequence sequence) {
  return std::erase_if(in_flight_, [&](const First& first) {
           return first.sequence == sequence;
         }) > 0;
}

}  // namespace walpost
