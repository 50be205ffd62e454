// OldestUnpublished: commit time of the oldest event that was received and is
// not in Kafka.
//
// An event that was in flight when its producer was lost is not published
// either, though nothing is in flight until the stream comes back to it.
//
// Owned by the relay. Pure.
#pragma once

#include <optional>

#include "base/time.h"
#include "delivery/acknowledgement_window.h"

namespace walpost {

class OldestUnpublished {
 public:
  // Call it a few times a second. `oldest` in flight; nullptr: none.
  // `settled_through`: WalProgress.
  void Look(const InFlightRecord* oldest, const Position& settled_through) {
    if (oldest != nullptr) {
      position_ = oldest->position;
      commit_time_ = oldest->commit_time;
    } else if (settled_through >= position_) {
      commit_time_.reset();
    }
  }

  // The next positions belong to another stream.
  void StartOver() { *this = OldestUnpublished(); }

  // nullopt: all that was received is published, or set aside.
  const std::optional<WallTime>& commit_time() const { return commit_time_; }

 private:
  Position position_;
  std::optional<WallTime> commit_time_;
};

}  // namespace walpost
