// RecordedEvents: recorded decisions about events that a stream may show again.
// Recognises each event when it comes.
//
// An event is found by position, digest and numbering. The position of an event
// that was counted under another numbering (outbox/numbering.h) says nothing;
// its transaction and its digest do.
//
// `Fact` is the recorded decision. A value; pure. Memory: some hundred bytes
// for each event.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/lsn.h"
#include "outbox/position.h"

namespace walpost {

template <typename Fact>
class RecordedEvents {
 public:
  struct Entry {
    std::string digest;  // outbox/event_digest.h
    Fact fact;
  };

  void Add(const Position& position, Entry entry) {
    newest_ = std::max(newest_, position.commit_lsn);
    entries_.insert_or_assign(position, std::move(entry));
  }
  void AddOfOtherNumbering(Lsn commit_lsn, Entry entry) {
    newest_ = std::max(newest_, commit_lsn);
    std::pair key(commit_lsn, entry.digest);
    unclaimed_[std::move(key)].push_back(std::move(entry));
  }

  // True if an event at `position` may be on record: then ask Find.
  bool MayHave(const Position& position) const {
    return position.commit_lsn <= newest_;
  }

  // Call it for events in stream order, as often as needed. Another event may
  // be on record at this position (AreOfDifferentEvents). nullptr: there is
  // none. Valid until the next call.
  const Entry* Find(const Position& position, const std::string& digest) {
    const auto known = entries_.find(position);
    if (known != entries_.end()) return &known->second;
    const auto found = unclaimed_.find({position.commit_lsn, digest});
    if (found == unclaimed_.end()) return nullptr;
    const auto claimed =
        entries_.emplace(position, std::move(found->second.front())).first;
    found->second.pop_front();
    if (found->second.empty()) unclaimed_.erase(found);
    return &claimed->second;
  }

 private:
  std::map<Position, Entry> entries_;
  // Entries that no event of the stream has claimed yet, in their order.
  std::map<std::pair<Lsn, std::string>, std::deque<Entry>> unclaimed_;
  Lsn newest_;  // commit of the newest one
};

}  // namespace walpost
