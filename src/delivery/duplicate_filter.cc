#include "delivery/duplicate_filter.h"

#include <algorithm>
#include <iterator>

namespace walpost {

void DuplicateFilter::Add(const std::vector<EventIdentity>& acknowledged) {
  std::vector<EventIdentity> merged;
  std::set_union(acknowledged_.begin() + static_cast<ptrdiff_t>(passed_),
                 acknowledged_.end(), acknowledged.begin(), acknowledged.end(),
                 std::back_inserter(merged));
  acknowledged_ = std::move(merged);
  passed_ = 0;
}

bool DuplicateFilter::IsAcknowledged(const EventIdentity& event) {
  while (passed_ < acknowledged_.size() &&
         acknowledged_[passed_].position < event.position) {
    ++passed_;
  }
  return passed_ < acknowledged_.size() && acknowledged_[passed_] == event;
}

}  // namespace walpost
