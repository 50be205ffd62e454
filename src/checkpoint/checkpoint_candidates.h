// CheckpointCandidates: picks the checkpoint of our slot from a shared log.
//
// Databases of several clusters may use one topic, and most slots are named
// `walpost`. So the key of a record is `<slot>@<system identifier>`; older
// releases wrote `<slot>` alone, for every system.
//
//   CheckpointCandidates candidates(slot, identity);
//   for each record of the log, in order: candidates.Add(key, value);
//   candidates.Pick();
//
// Records of our system count by CheckpointHistory, under either key. Without
// such a record, Pick returns the newest one of another system, so that a moved
// database is noticed (other_cluster); but not if the slot has a birth record
// on this server.
//
// Pure; a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/source_identity.h"

namespace walpost {

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

// "orders@7710532146069433627".
std::string CheckpointKey(std::string_view slot,
                          std::string_view system_identifier);

class CheckpointCandidates {
 public:
  CheckpointCandidates(std::string slot, SourceIdentity identity)
      : slot_(std::move(slot)), identity_(std::move(identity)) {}

  // `value` nullopt: a record without a value.
  void Add(std::string_view key, std::optional<std::string_view> value);

  // nullopt: none. kDataLoss: the last record of a key cannot be read; the
  // message names the key.
  absl::StatusOr<std::optional<Checkpoint>> Pick() const;

  // True if an older release has left a record of our system under `<slot>`.
  bool old_key_is_ours() const { return old_key_is_ours_; }

 private:
  std::string slot_;
  SourceIdentity identity_;
  CheckpointHistory own_;
  std::string own_key_;  // of the last record in own_
  std::map<std::string, CheckpointHistory, std::less<>> foreign_;  // by key
  bool old_key_is_ours_ = false;
};

}  // namespace walpost
