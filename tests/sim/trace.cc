#include "sim/trace.h"

#include <algorithm>

#include "fmt/format.h"

namespace walpost::sim {

std::string Trace::text() const {
  std::string text;
  for (size_t i = count_ - std::min(count_, kKept); i < count_; ++i) {
    const Entry& entry = entries_[i % kKept];
    const std::string actor =
        entry.actor < 0 ? "" : fmt::format("relay {} ", entry.actor);
    text += fmt::format(
        "  {:>7} {}{}\n", entry.step, actor,
        fmt::format(fmt::runtime(entry.what), entry.first, entry.second));
  }
  return text;
}

}  // namespace walpost::sim
