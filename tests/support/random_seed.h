// Where the randomness of a test comes from: WALPOST_SEED replays a failure,
// else every run draws a new seed. Print it with SCOPED_TRACE.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace walpost::testing {

// `count` seeds to run a random test with; just the one that WALPOST_SEED
// names when it is set.
inline std::vector<uint64_t> RandomSeeds(size_t count) {
  if (const char* fixed = std::getenv("WALPOST_SEED")) {
    return {std::strtoull(fixed, nullptr, 0)};
  }
  std::random_device device;
  std::vector<uint64_t> seeds(count);
  for (uint64_t& seed : seeds) seed = device();
  return seeds;
}

inline std::string ReplayWith(uint64_t seed) {
  return "replay with WALPOST_SEED=" + std::to_string(seed);
}

// The draws that the random tests need.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // 0 to limit - 1.
  uint64_t Below(uint64_t limit) {
    return std::uniform_int_distribution<uint64_t>(0, limit - 1)(engine_);
  }
  uint64_t Between(uint64_t least, uint64_t most) {
    return least + Below(most - least + 1);
  }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace walpost::testing
