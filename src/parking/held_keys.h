// HeldKeys: the lanes with parked events, whose later events must follow them.
//
//   events of a lane    1  2 | 3     4     5  |  6
//                            | parked         |
//                            ^ first          ^ released: nothing waits
//
// Parked events are numbered in the order in which they were parked. A lane is
// held until the owner has seen that nothing of it waits any more, after it was
// told that everything parked so far is stored.
//
// The first event of a lane may have been parked under another numbering
// (outbox/numbering.h), in a transaction that the stream shows once more. Then
// its position says nothing, and the lane is held from the event with its
// digest.
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

#include "base/lsn.h"
#include "outbox/position.h"

namespace walpost {

class HeldKeys {
 public:
  void Clear() { lanes_.clear(); }

  // An event of the lane is parked. `end` is one past the event's number; for
  // events already stored, any number up to the current one will do.
  void Hold(const std::string& lane, const Position& position, uint64_t end);
  // The same for an event that was parked under another numbering. Ignored if
  // the lane is held.
  void HoldFromDigest(const std::string& lane, Lsn commit_lsn,
                      std::string digest, uint64_t end);

  // True if an event of the lane at `position` must follow, or is, a parked
  // one. Call it for events in stream order; `digest` is that of the event.
  bool Holds(std::string_view lane, const Position& position,
             std::string_view digest);
  // True if Holds needs the digest of an event at `position`.
  bool AsksForDigest(std::string_view lane, const Position& position) const;
  bool Contains(std::string_view lane) const { return lanes_.contains(lane); }

  // Makes the events of the lane wait until it is released or opened again.
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
  struct OrderingKey {
    Position first;
    std::string first_digest;  // not empty: only the commit of `first` is known
    uint64_t end = 0;          // number after its newest event
    bool is_closed = false;
  };

  std::map<std::string, OrderingKey, std::less<>> lanes_;
};

}  // namespace walpost
