// SinkRounds: how many sinks in a row may fail while the brokers reject records
// and none of them brings an event further. Pure.
#pragma once

#include <chrono>
#include <cstdint>

namespace walpost {

class SinkRounds {
 public:
  static constexpr int kMax = 5;
  // For requests that are on their way when a sink is replaced.
  static constexpr std::chrono::seconds kGrace{2};

  // The sink failed when so many events were acknowledged or set aside. True:
  // another may begin.
  bool MayBegin(uint64_t handled) {
    if (handled > handled_) without_progress_ = 0;
    handled_ = handled;
    return without_progress_++ < kMax;
  }

 private:
  uint64_t handled_ = 0;
  int without_progress_ = 0;
};

}  // namespace walpost
