// FakeParking: a Parking that does what the test says, and keeps what it is
// given.
#pragma once

#include <vector>

#include "delivery/parking.h"

namespace walpost::testing {

class FakeParking final : public Parking {
 public:
  Claim ClaimOf(const Event&) override { return claim; }
  bool WasReleased(const Event&) override { return was_released; }
  void Isolate(const Event& event) override {
    isolated.push_back(event.position);
    claim = Claim::kIsolated;
  }
  absl::Status MayPark(const Event&) override { return may_park; }
  size_t Park(const Event& event, const absl::Status& reason,
              Sequence sequence) override {
    positions.push_back(event.position);
    dead.push_back(!reason.ok());
    sequences.push_back(sequence);
    return 100;
  }
  bool KeepsLetters() const override { return keeps_letters; }
  size_t KeepLetter(const Event& event, const absl::Status&,
                    Sequence sequence) override {
    letters.push_back(event.position);
    sequences.push_back(sequence);
    return 100;
  }

  bool keeps_letters = false;
  std::vector<Position> letters;
  Claim claim = Claim::kFree;
  bool was_released = false;
  absl::Status may_park;
  std::vector<Position> isolated;
  std::vector<Position> positions;  // of parked events
  std::vector<bool> dead;
  std::vector<Sequence> sequences;  // of both
};

}  // namespace walpost::testing
