// Trace: the last events of a simulation, to find the cause of a finding.
//
// An entry is a format and numbers; it becomes text only on request.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace walpost::sim {

// Actors from here on are runs of walpost replay, those from 0 on relays.
inline constexpr int kFirstReplay = 100;

using Tally = std::map<std::string_view, uint64_t>;

class Trace {
 public:
  // `what` is a literal; its {} stand for `first`, then `second`.
  void Add(uint64_t step, int actor, const char* what, uint64_t first = 0,
           uint64_t second = 0) {
    entries_[count_++ % kKept] = {step, actor, what, first, second};
    ++tally_[what];
  }

  // One line per entry, oldest first.
  std::string text() const;

  // How often each event happened.
  const Tally& tally() const { return tally_; }

 private:
  static constexpr size_t kKept = 48;

  struct Entry {
    uint64_t step;
    int actor;  // negative: the world around them
    const char* what;
    uint64_t first;
    uint64_t second;
  };

  std::array<Entry, kKept> entries_{};
  size_t count_ = 0;
  Tally tally_;
};

}  // namespace walpost::sim
