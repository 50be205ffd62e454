// CheckpointHistory: picks the checkpoint among the records of a slot.
//
// A log does not compare its records. An instance that was frozen, and has lost
// the slot meanwhile, may still have a record on its way, which then arrives
// after those of the instance that took over. So the furthest record counts,
// not the last one; for another cluster, the last one. A record without a value
// clears all before it.
//
//   CheckpointHistory history;
//   for each record of the key, in order: history.Add(value);
//   history.checkpoint();
//
// Pure; a value.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"

namespace walpost {

class CheckpointHistory {
 public:
  // nullopt: a record without a value.
  void Add(std::optional<std::string_view> value);

  // nullopt: none. kDataLoss: the last record cannot be read, so its progress
  // is not known; an earlier unreadable record does not matter.
  absl::StatusOr<std::optional<Checkpoint>> checkpoint() const {
    if (!last_.ok()) return last_;
    return checkpoint_;
  }

 private:
  std::optional<Checkpoint> checkpoint_;
  absl::Status last_;
};

}  // namespace walpost
