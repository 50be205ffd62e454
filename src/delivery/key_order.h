// KeyOrder: keeps the order of each key for a sink whose brokers acknowledge
// records one by one, where a later record may be written although an earlier
// one was not: one record of a key is in flight at a time, and keys do not wait
// for each other.
//
//   Add ──▶ true: send it
//       └─▶ false: it waits ──▶ Next, after the one before it: send it
//
// Pure: the sink sends, and keeps the records. Owned by the sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "delivery/acknowledgement_window.h"
#include "outbox/event.h"

namespace walpost {

class KeyOrder {
 public:
  // A key of a topic; two keys that are the same Lane by chance only wait for
  // each other. nullopt: no key, so no order.
  using Lane = std::optional<uint64_t>;
  static Lane LaneOf(std::string_view topic, const Value& key);

  // Adds an accepted record. True: it may be sent now.
  bool Add(Lane lane, Sequence sequence);

  // The record of the lane that was in flight is durable; or it was rejected,
  // and the sink goes on all the same (SinkOptions::one_at_a_time). Returns the
  // next of the lane, which may be sent now. For any other record that was not
  // written, the sink fails, and Clear ends all that wait.
  std::optional<Sequence> Next(Lane lane);

  void Clear();

  // Records that are not yet in flight.
  size_t waiting() const { return waiting_; }

 private:
  // The records behind the one in flight, of lanes that have one.
  absl::flat_hash_map<uint64_t, std::deque<Sequence>> lanes_;
  size_t waiting_ = 0;
};

}  // namespace walpost
