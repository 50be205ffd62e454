#include "checkpoint/checkpoint_candidates.h"

#include <utility>

#include "checkpoint/checkpoint_codec.h"
#include "fmt/format.h"

namespace walpost {
namespace {

absl::Status Unreadable(std::string_view key, const absl::Status& status) {
  return absl::DataLossError(fmt::format("last record of key {}: {}", key,
                                         std::string(status.message())));
}

}  // namespace

std::string CheckpointKey(std::string_view slot,
                          std::string_view system_identifier) {
  return fmt::format("{}@{}", slot, system_identifier);
}

void CheckpointCandidates::Add(std::string_view key,
                               std::optional<std::string_view> value) {
  const bool is_old_key = key == slot_;
  if (!is_old_key && !key.starts_with(slot_ + "@")) return;
  bool is_ours = key == CheckpointKey(slot_, identity_.system_identifier);
  if (is_old_key) {
    // An unreadable record, or one without a value, may be meant for us.
    const auto checkpoint =
        value ? DecodeCheckpoint(*value)
              : absl::StatusOr<Checkpoint>(absl::NotFoundError(""));
    is_ours = !checkpoint.ok() ||
              checkpoint->system_identifier == identity_.system_identifier;
    old_key_is_ours_ = is_ours && value.has_value();
  }
  if (is_ours) {
    own_.Add(value);
    own_key_ = key;
  } else {
    foreign_[std::string(key)].Add(value);
  }
}

absl::StatusOr<std::optional<Checkpoint>> CheckpointCandidates::Pick() const {
  absl::StatusOr<std::optional<Checkpoint>> own = own_.checkpoint();
  if (!own.ok()) return Unreadable(own_key_, own.status());
  if (own->has_value() || identity_.has_birth_record) return own;
  std::optional<Checkpoint> newest;
  for (const auto& [key, history] : foreign_) {
    const absl::StatusOr<std::optional<Checkpoint>> found =
        history.checkpoint();
    if (!found.ok()) return Unreadable(key, found.status());
    if (!*found) continue;
    if (!newest || (*found)->written_at > newest->written_at) newest = *found;
  }
  return newest;
}

void CheckpointHistory::Add(std::optional<std::string_view> value) {
  last_ = absl::OkStatus();
  if (!value) {
    checkpoint_.reset();
    return;
  }
  absl::StatusOr<Checkpoint> next = DecodeCheckpoint(*value);
  last_ = next.status();
  if (!next.ok()) return;
  if (checkpoint_ && IsLater(*checkpoint_, *next)) return;
  checkpoint_ = *std::move(next);
}

}  // namespace walpost
