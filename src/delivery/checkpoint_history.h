// CheckpointHistory: which of the records of a slot is its checkpoint.
//
// A log does not compare what it is given. An instance that was frozen, and has
// lost the slot meanwhile, may still have a record on its way, which then comes
// after those of the instance that took over. So not the last record counts,
// but the furthest one; of another cluster, the last one. A record without a
// value makes all before it forgotten.
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
#include "delivery/checkpoint.h"

namespace walpost {

class CheckpointHistory {
 public:
  // nullopt: a record without a value.
  void Add(std::optional<std::string_view> value);

  // nullopt: there is none. kDataLoss: the last record cannot be read, so it
  // is not known how far it went; an earlier one like that does not matter.
  absl::StatusOr<std::optional<Checkpoint>> checkpoint() const {
    if (!last_.ok()) return last_;
    return checkpoint_;
  }

 private:
  std::optional<Checkpoint> checkpoint_;
  absl::Status last_;
};

}  // namespace walpost
