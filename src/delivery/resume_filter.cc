#include "delivery/resume_filter.h"

#include <algorithm>
#include <iterator>

namespace walpost {

void ResumeFilter::Add(const std::vector<Position>& acknowledged) {
  std::vector<Position> merged;
  std::set_union(acknowledged_.begin() + static_cast<ptrdiff_t>(passed_),
                 acknowledged_.end(), acknowledged.begin(), acknowledged.end(),
                 std::back_inserter(merged));
  acknowledged_ = std::move(merged);
  passed_ = 0;
}

bool ResumeFilter::IsAcknowledged(const Position& position) {
  while (passed_ < acknowledged_.size() && acknowledged_[passed_] < position) {
    ++passed_;
  }
  return passed_ < acknowledged_.size() && acknowledged_[passed_] == position;
}

}  // namespace walpost
