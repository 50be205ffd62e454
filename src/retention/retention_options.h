// Retention of events in the outbox: keys `retention.*` of
// docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>

namespace walpost {

// The proof that a row was sent.
enum class SentProof {
  kSlot,    // the slot has confirmed its commit (acknowledged_gate.h)
  kState,   // its state column says so
  kCursor,  // the stored cursor has passed it (cursor_gate.h)
  kNone,    // rows are deleted when sent: existing rows were not
};

struct RetentionOptions {
  // Age from which a sent event is deleted; 0: `run` deletes none.
  std::chrono::milliseconds keep{0};
  // Time between two passes of `run`.
  std::chrono::milliseconds interval{3'600'000};
  // Rows per DELETE, and the pause after it: at most 10,000 rows a second,
  // which leaves the disk and autovacuum room. A batch of a thousand holds its
  // locks for some milliseconds.
  size_t batch_rows = 1'000;
  std::chrono::milliseconds pause{100};
  // Days for which partitions are created in advance, if the table has them.
  size_t partitions_ahead = 7;

  bool enabled() const { return keep.count() > 0; }
};

}  // namespace walpost
