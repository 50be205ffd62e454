// PartitionStarts: lets the first record of each partition of a topic go alone.
//
// A broker checks the sequence numbers of an idempotent producer against what
// it has of that producer in that partition. While it has nothing, it takes any
// number. So when the first batch is refused in passing (a leader that is not
// ready yet) and the second, already on its way, is not, the second is written
// without the first, and librdkafka takes the first for written, too. One
// acknowledged record, and every later batch is checked.
//
// Records without a key have no order, and are not asked about. Of a topic
// whose partitions are not known yet, one record goes.
//
// Pure; a value. For one producer and one topic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "delivery/acknowledgement_window.h"

namespace walpost {

class PartitionStarts {
 public:
  // Of a record whose partition is chosen when the topic is known.
  static constexpr int32_t kUnassigned = -1;

  // Whether all of `partitions` have started: nothing is to be asked.
  bool AllStarted(int32_t partitions) const {
    return partitions > 0 && started_ == partitions;
  }

  // Whether a record may be produced to this partition now. If not: after the
  // next report.
  bool MayProduce(int32_t partition) const;

  // It was accepted.
  void OnProduced(int32_t partition, Sequence sequence);

  // Any record of the topic has had its report: acknowledged, in `partition`.
  void OnAcknowledged(int32_t partition, Sequence sequence);
  // Or not.
  void OnNotDelivered(Sequence sequence);

 private:
  struct First {
    int32_t partition;
    Sequence sequence;
  };

  bool HasStarted(int32_t partition) const {
    const auto index = static_cast<size_t>(partition);
    return partition >= 0 && index < has_started_.size() && has_started_[index];
  }
  // False when it was none.
  bool Remove(Sequence sequence);

  std::vector<First> in_flight_;
  std::vector<bool> has_started_;
  int32_t started_ = 0;
};

}  // namespace walpost
