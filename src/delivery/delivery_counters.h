// DeliveryCounters: counts of the events of a process, by their outcome.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "delivery/error_actions.h"

namespace walpost {

struct DeliveryCounters {
  uint64_t events = 0;         // received, repeats included
  uint64_t repeats = 0;        // skipped: in flight or acknowledged
  uint64_t produced = 0;       // handed to the sink
  uint64_t acknowledged = 0;   // durable at the brokers
  uint64_t value_bytes = 0;    // of produced records
  uint64_t claim_checks = 0;   // produced without their payloads
  uint64_t not_delivered = 0;  // reports other than an acknowledgement
  uint64_t transactions = 0;   // received whole, repeats included
  uint64_t rewinds = 0;        // producers given up

  // By class of error; the last one: kOtherErrors.
  using ByClass = std::array<uint64_t, kErrorClasses.size() + 1>;
  ByClass dead_letters{};      // durable at the brokers
  ByClass skipped{};           // left out
  ByClass parked{};            // stored, for an operator
  uint64_t parked_behind = 0;  // stored, because they follow such an event

  static uint64_t Sum(const ByClass& counts) {
    return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  }

  // Events that are not published, because they could not be delivered.
  uint64_t set_aside() const {
    return Sum(dead_letters) + Sum(skipped) + Sum(parked) + parked_behind;
  }

  DeliveryCounters& operator+=(const DeliveryCounters& more);
};

}  // namespace walpost
