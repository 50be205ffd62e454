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

#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_history.h"
#include "checkpoint/source_identity.h"

namespace walpost {

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
