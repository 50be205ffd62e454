// NamedCounts: counts by topic or by table, in a limited number of names.
//
// The names that come first keep their own count, and all others share one. So
// each count only grows, if names are added in the same order each time.
//
// A value: it holds no references. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace walpost {

class NamedCounts {
 public:
  static constexpr size_t kMaxNames = 100;
  static constexpr std::string_view kOthers = "other";

  void Add(std::string_view name, uint64_t count) {
    if (named_.size() == kMaxNames || name == kOthers) {
      others_ += count;
      has_others_ = true;
      return;
    }
    named_.emplace_back(name, count);
  }

  // Calls visit(name, count) for each, the others at the end.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [name, count] : named_) visit(name, count);
    if (has_others_) visit(kOthers, others_);
  }

 private:
  std::vector<std::pair<std::string, uint64_t>> named_;
  uint64_t others_ = 0;
  bool has_others_ = false;
};

// NamedCounter: counts as they come, in the same names. Its memory is bounded,
// however many names there are.
class NamedCounter {
 public:
  // The place of a name, for Add.
  size_t PlaceOf(std::string_view name) {
    const auto found = places_.find(name);
    if (found != places_.end()) return found->second;
    if (named_.size() == NamedCounts::kMaxNames) return kOthersPlace;
    named_.emplace_back(name, 0);
    places_.emplace(name, named_.size() - 1);
    return named_.size() - 1;
  }
  void Add(size_t place, uint64_t count) {
    (place == kOthersPlace ? others_ : named_[place].second) += count;
  }

  NamedCounts counts() const {
    NamedCounts counts;
    for (const auto& [name, count] : named_) counts.Add(name, count);
    if (others_ > 0) counts.Add(NamedCounts::kOthers, others_);
    return counts;
  }

 private:
  static constexpr size_t kOthersPlace = NamedCounts::kMaxNames;

  std::vector<std::pair<std::string, uint64_t>> named_;
  std::map<std::string, size_t, std::less<>> places_;
  uint64_t others_ = 0;
};

}  // namespace walpost
