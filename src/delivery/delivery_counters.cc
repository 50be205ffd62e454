#include "delivery/delivery_counters.h"

#include <algorithm>
#include <functional>

namespace walpost {

DeliveryCounters& DeliveryCounters::operator+=(const DeliveryCounters& more) {
  for (const auto count :
       {&DeliveryCounters::events, &DeliveryCounters::repeats,
        &DeliveryCounters::produced, &DeliveryCounters::acknowledged,
        &DeliveryCounters::value_bytes, &DeliveryCounters::claim_checks,
        &DeliveryCounters::not_delivered, &DeliveryCounters::transactions,
        &DeliveryCounters::rewinds, &DeliveryCounters::parked_behind}) {
    this->*count += more.*count;
  }
  for (const auto counts :
       {&DeliveryCounters::dead_letters, &DeliveryCounters::skipped,
        &DeliveryCounters::parked}) {
    ByClass& sums = this->*counts;
    const ByClass& terms = more.*counts;
    std::transform(sums.begin(), sums.end(), terms.begin(), sums.begin(),
                   std::plus<>());
  }
  return *this;
}

}  // namespace walpost
