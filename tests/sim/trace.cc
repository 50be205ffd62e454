#include "sim/trace.h"

#include <algorithm>

#include "fmt/format.h"

namespace walpost::sim {
namespace {

std::string NameOf(int actor) {
  if (actor < 0) return "";
  return actor < kFirstReplay ? fmt::format("relay {} ", actor)
                              : fmt::format("replay {} ", actor - kFirstReplay);
}

}  // namespace

std::string Trace::text() const {
  std::string text;
  for (size_t i = count_ - std::min(count_, kKept); i < count_; ++i) {
    const Entry& entry = entries_[i % kKept];
    text += fmt::format(
        "  {:>7} {}{}\n", entry.step, NameOf(entry.actor),
        fmt::format(fmt::runtime(entry.what), entry.first, entry.second));
  }
  return text;
}

}  // namespace walpost::sim
