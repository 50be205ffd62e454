#include "checkpoint/checkpoint_history.h"

#include <utility>

#include "checkpoint/checkpoint_codec.h"

namespace walpost {

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
