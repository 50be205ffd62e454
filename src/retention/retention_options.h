// How long events stay in the outbox: keys `retention.*` of
// docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>

namespace walpost {

// By what we know that a row was sent.
enum class SentProof {
  kSlot,    // the slot has confirmed its commit (acknowledged_gate.h)
  kState,   // its state column says so
  kCursor,  // the stored cursor has passed it (cursor_gate.h)
  kNone,    // whoever sends a row deletes it: what is there was not sent
};

struct RetentionOptions {
  // Age from which an event that was sent is deleted; 0: `run` deletes none.
  std::chrono::milliseconds keep{0};
  // From one pass to the next, of `run`.
  std::chrono::milliseconds interval{3'600'000};
  // Rows of one DELETE, and the rest after it: at most 10,000 rows a second,
  // which leaves the disk and autovacuum room. A batch of a thousand holds its
  // locks for some milliseconds.
  size_t batch_rows = 1'000;
  std::chrono::milliseconds pause{100};
  // Days for which partitions are made in advance, where the table has them.
  size_t partitions_ahead = 7;

  bool enabled() const { return keep.count() > 0; }
};

}  // namespace walpost
