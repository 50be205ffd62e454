// NamedLatencies: how long events took, by topic or by table, in a limited
// number of names.
//
// The names that come first keep counts of their own, and all others share
// them, as in NamedCounts. The buckets are few: a hundred names are a hundred
// times as many series. They have the limits that people promise (a second),
// and are not for exact quantiles (latency_histogram.h).
//
// A name is looked up when its event is sent, and its index is what the event
// carries until it is acknowledged. Only a name that is new allocates. A value:
// it holds no references. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "delivery/named_counts.h"

namespace walpost {

class NamedLatencies {
 public:
  using Index = uint8_t;
  static constexpr size_t kMaxNames = NamedCounts::kMaxNames;

  // The last bucket takes the rest.
  static constexpr std::array kUpperBounds = {
      std::chrono::milliseconds(10),    std::chrono::milliseconds(50),
      std::chrono::milliseconds(250),   std::chrono::milliseconds(1'000),
      std::chrono::milliseconds(5'000), std::chrono::milliseconds(30'000)};
  static constexpr size_t kBuckets = kUpperBounds.size() + 1;

  struct Latencies {
    std::array<uint64_t, kBuckets> buckets{};
    std::chrono::microseconds sum{0};

    uint64_t count() const;
  };

  // Valid as long as the object, and in its copies.
  Index IndexOf(std::string_view name);

  // `times`: how many events took so long. Less than nothing counts as nothing.
  void Record(Index index, std::chrono::microseconds latency,
              uint64_t times = 1);

  // Calls visit(name, latencies) for each, the others at the end.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Named& named : named_) {
      visit(std::string_view(named.name), named.latencies);
    }
    if (has_others_) visit(NamedCounts::kOthers, others_);
  }

 private:
  static constexpr Index kOthersIndex = kMaxNames;
  static_assert(kMaxNames < 256);

  // Lets a std::string_view look up a std::string.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  struct Named {
    std::string name;
    Latencies latencies;
  };

  std::vector<Named> named_;
  absl::flat_hash_map<std::string, Index, Hash, std::equal_to<>> indexes_;
  Latencies others_;
  bool has_others_ = false;
};

}  // namespace walpost
