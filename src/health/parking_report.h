// ParkingReport: the events that wait for an operator, behind such events, or
// for their topic.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace walpost {

struct ParkingReport {
  uint64_t keys = 0;
  uint64_t events = 0;  // dead ones included
  uint64_t dead = 0;
  std::chrono::seconds oldest{0};  // since it was parked

  std::vector<std::string> topics;  // isolated
  uint64_t isolated_events = 0;     // that wait for them
  uint64_t isolated_bytes = 0;
  std::chrono::seconds oldest_isolated{0};

  // What released events and retried dead letters wait for: "orders takes no
  // records for 12 s". Empty: nothing.
  std::string held_up;

  // A statement for the table runs for this long; zero: none does.
  std::string table;
  std::chrono::milliseconds unanswered_for{0};
  size_t unstored = 0;    // events that wait to be stored
  std::string waits_for;  // what the server says of it; empty: nothing

  // Keys that were parked after `counted` ones were counted have at least the
  // event for which they are parked.
  void AddUncounted(uint64_t counted) {
    const uint64_t uncounted = keys > counted ? keys - counted : 0;
    events += uncounted;
    dead += uncounted;
  }

  bool empty() const { return keys == 0 && topics.empty() && held_up.empty(); }
};

}  // namespace walpost
