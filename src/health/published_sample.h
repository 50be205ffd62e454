// PublishedSample: some of the events that were published last, to be compared
// with their rows (UpdateDetector).
//
// Pure. Owned by the relay.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "outbox/event.h"

namespace walpost {

class PublishedSample {
 public:
  // Events kept for each outbox; the oldest ones make room.
  static constexpr size_t kMaxEvents = 64;
  // Events taken until the next pass; more would slow the stream down.
  static constexpr size_t kMaxNewEvents = 16;
  // Events with larger payloads are not sampled.
  static constexpr size_t kMaxPayloadBytes = size_t{64} << 10;

  // An event of the stream. Without an id, its row cannot be found.
  void Note(const Event& event);

  void BeginPass() { in_pass_.clear(); }

  // How many were taken so far.
  uint64_t taken(size_t source) const;
  std::vector<std::string> ids(size_t source) const;

  // True if the row of a sampled event now has another content, whichever
  // event of its id is compared.
  bool Differs(const Event& row) const;

 private:
  struct Entry {
    std::string id;
    std::string content;  // a digest
  };
  struct Outbox {
    std::deque<Entry> entries;
    uint64_t taken = 0;
  };

  std::map<size_t, Outbox> outboxes_;  // by Event::source
  std::map<size_t, size_t> in_pass_;
};

}  // namespace walpost
