// World: state shared by all parts of one simulation. One seed gives one
// history: nothing in it reads a clock or another source of randomness.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"
#include "sim/trace.h"
#include "support/random_seed.h"

namespace walpost::sim {

using std::chrono::milliseconds;
using testing::Random;

inline WallTime WallTimeOf(MonotonicTime time) {
  return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(
      time.time_since_epoch()));
}

// Actor in Trace that is not a relay.
inline constexpr int kNobody = -1;

struct World {
  explicit World(uint64_t seed) : random(seed) {}

  void Note(int actor, const char* what, uint64_t first = 0,
            uint64_t second = 0) {
    trace.Add(step, actor, what, first, second);
  }

  Random random;
  MonotonicTime now{};
  MonotonicTime damaged_until{};  // frames of the server, on their way
  uint64_t step = 0;
  Trace trace;
};

}  // namespace walpost::sim
