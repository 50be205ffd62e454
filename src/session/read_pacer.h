// ReadPacer: decides how long data gathers before the next read.
//
// The walsender sends message by message. A reader that wakes for each one uses
// a third of its CPU for waking, and some of the walsender's, and makes a
// request to Kafka of each event. So on a busy stream, after a short read, it
// pauses for the time that a full read takes to gather, within limits. It never
// pauses after a full read (there is more), nor on a quiet stream (latency).
// Figures: bench/README.md.
//
// Pure: the caller passes the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace walpost {

class ReadPacer {
 public:
  // Result of one read, in whole messages.
  struct Taken {
    size_t messages = 0;
    size_t bytes = 0;
    size_t largest = 0;  // bytes of a message

    void Add(size_t message_bytes) {
      ++messages;
      bytes += message_bytes;
      largest = std::max(largest, message_bytes);
    }
  };

  // A read is short if even another message as large as its largest would not
  // make it more than this: the next message may be there in part.
  // (ReplicationStream::Receive takes 16 KB.)
  static constexpr size_t kFullRead = 12'000;
  // The longest pause, which is added to the latency.
  static constexpr std::chrono::microseconds kMaxPause{4'000};
  // The stream is busy with this many messages in kMeasured (10,000/s).
  static constexpr std::chrono::milliseconds kMeasured{10};
  static constexpr size_t kBusyMessages = 100;

  // Records a read. Returns the pause before the next; zero: none.
  std::chrono::microseconds PauseAfter(Taken read, MonotonicTime now) {
    if (now - since_ >= kMeasured) {
      pause_ = PauseAt(counted_, now - since_);
      since_ = now;
      counted_ = {};
    }
    counted_.messages += read.messages;
    counted_.bytes += read.bytes;
    if (read.bytes + read.largest > kFullRead) return {};
    return pause_;
  }

 private:
  static std::chrono::microseconds PauseAt(Taken counted,
                                           MonotonicTime::duration elapsed) {
    const bool is_busy =
        counted.messages >= kBusyMessages && elapsed < 4 * kMeasured;
    if (!is_busy) return {};
    const auto gathered =
        elapsed * kFullRead / std::max<size_t>(counted.bytes, 1);
    return std::min(
        kMaxPause,
        std::chrono::duration_cast<std::chrono::microseconds>(gathered));
  }

  MonotonicTime since_{};
  Taken counted_;
  std::chrono::microseconds pause_{};
};

}  // namespace walpost
