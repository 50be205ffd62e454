// PendingEvents: events that a slot will send, without those that are found in
// a table. The events that are left would be lost with the slot.
//
// Events are recognised as by EventSet; those that it does not recognise are
// left. Memory: that of an EventSet. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "outbox/event.h"

namespace walpost {

class PendingEvents {
 public:
  void Add(const Event& event);
  void Remove(const Event& row);

  uint64_t size() const { return digests_.size() + unrecognisable_; }
  // The first three that are left: "id 17 at 0/1F2E3D/1", separated by commas.
  std::string ToText() const;

 private:
  absl::flat_hash_set<absl::uint128> digests_;
  uint64_t unrecognisable_ = 0;
  // The first ones are enough for a text.
  std::vector<std::pair<std::optional<absl::uint128>, std::string>> names_;
};

}  // namespace walpost
