// ParkingReport: the events that wait for an operator, and behind such events.
#pragma once

#include <chrono>
#include <cstdint>

namespace walpost {

struct ParkingReport {
  uint64_t keys = 0;
  uint64_t events = 0;  // dead ones included
  uint64_t dead = 0;
  std::chrono::seconds oldest{0};  // since it was parked
};

}  // namespace walpost
