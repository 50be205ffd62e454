// FirstRecordBarrier: sends the first record of each partition of a topic
// alone.
//
// A broker checks the sequence numbers of an idempotent producer against those
// it has from that producer in that partition. While it has none, it accepts
// any number. So if the first batch is rejected temporarily (a leader that is
// not ready yet) and the second, already on its way, is not, the second is
// written without the first, and librdkafka takes both for written. After one
// acknowledged record, every later batch is checked.
//
// Records without a key have no order, and are not checked. If the partitions
// of a topic are not known yet, one record is sent.
//
// Pure; a value. One per producer and topic.
#pragma once

#include <cstdint>
#include <vector>

#include "delivery/acknowledgement_window.h"

namespace walpost {

class FirstRecordBarrier {
 public:
  // For a record whose partition is chosen when the topic is known.
  static constexpr int32_t kUnassigned = -1;

  // True if all of `partitions` have started: no check is needed.
  bool AllStarted(int32_t partitions) const {
    return partitions > 0 && started_ == partitions;
  }

  bool AnyStarted() const { return started_ > 0; }

  // True if a record may be produced to this partition now. If not, ask again
  // after the next report.
  bool MayProduce(int32_t partition) const;

  // The record was accepted.
  void OnProduced(int32_t partition, Sequence sequence);

  // A record of the topic was acknowledged, in `partition`.
  void OnAcknowledged(int32_t partition, Sequence sequence);
  // A record of the topic was not delivered.
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
  // False: it was not in flight.
  bool Remove(Sequence sequence);

  std::vector<First> in_flight_;
  std::vector<bool> has_started_;
  int32_t started_ = 0;
};

}  // namespace walpost
