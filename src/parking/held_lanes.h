// HeldLanes: the lanes with parked events, whose later events must follow them.
//
//   events of a lane    1  2 | 3     4     5  |  6
//                            | parked         |
//                            ^ first          ^ released: nothing waits
//
// Parked events are numbered in the order in which they were parked. A lane is
// held until the owner has seen that nothing of it waits any more, after it was
// told that everything parked so far is stored.
//
// Pure. Memory: some hundred bytes for each lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/position.h"

namespace walpost {

class HeldLanes {
 public:
  void Clear() { lanes_.clear(); }

  // An event of the lane is parked; `end`: the number after its own. Those that
  // are stored already have any number that is.
  void Hold(const std::string& lane, const Position& position, uint64_t end);

  // True if an event of the lane at `position` must follow, or is, a parked
  // one.
  bool Holds(std::string_view lane, const Position& position) const;
  bool Contains(std::string_view lane) const { return lanes_.contains(lane); }

  // The events of the lane wait until it is released or opened again.
  void Close(const std::string& lane);
  bool OpenAll();  // false: none was closed
  bool IsClosed(std::string_view lane) const;

  // Releases the lanes that are not among those in which events wait, as they
  // were read after the numbers below `stored` were stored. Returns how many.
  size_t ReleaseExcept(const std::set<std::string>& waiting, uint64_t stored);

  std::vector<std::string> Names() const;
  size_t size() const { return lanes_.size(); }
  bool empty() const { return lanes_.empty(); }

 private:
  struct Lane {
    Position first;
    uint64_t end = 0;  // number after its newest event
    bool is_closed = false;
  };

  std::map<std::string, Lane, std::less<>> lanes_;
};

}  // namespace walpost
