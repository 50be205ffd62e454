// UnreadPartitions: decides when topics have been read to the end that they had
// when the reading began.
//
// The end is that of the log, not of what is committed by then: an open
// transaction hides all records behind its first one, and rows whose records
// are hidden would count as missing.
//
//   0 ──── committed ──── begin of an open transaction ──── end
//                         the brokers give nothing from here
//
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace walpost {

class UnreadPartitions {
 public:
  using Place = std::pair<std::string, int32_t>;

  // Nothing to read if the partition is empty.
  void Add(std::string topic, int32_t partition, int64_t begin, int64_t end);

  // A record came.
  void OnRecord(std::string_view topic, int32_t partition, int64_t offset);
  // The brokers give no records from this offset on, for now.
  void OnEnd(std::string_view topic, int32_t partition, int64_t offset);

  bool empty() const { return unread_.empty(); }
  // True if each partition that is left is held up by a transaction.
  bool AwaitOnlyTransactions() const;
  // The first unread place. Requires that there is one.
  const Place& first() const { return unread_.begin()->first; }
  // "topic orders[0] at offset 7 of 12 and 2 more". Requires an unread place.
  std::string Describe() const;

 private:
  struct State {
    int64_t next;
    int64_t end;
    bool is_held_up;
  };
  void Advance(std::string_view topic, int32_t partition, int64_t next,
               bool is_held_up);

  std::map<Place, State> unread_;
};

}  // namespace walpost
