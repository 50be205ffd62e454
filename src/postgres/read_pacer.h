// ReadPacer: how long to let the stream gather before reading on.
//
// The walsender sends message by message. A reader that wakes for each of
// them burns a third of its CPU on waking, some of the walsender's too, and
// makes a request to Kafka of each event. So on a busy stream, after a short
// read, it pauses for as long as a full one takes to gather, within limits;
// never after a full read (there is more), and never on a quiet stream
// (latency). Figures: bench/README.md.
//
// Pure: it is told the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace walpost {

class ReadPacer {
 public:
  // What one read gave, in whole messages.
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

  // A read of fewer bytes is short, if a message as large as its largest would
  // not have made it full: the next one may be there in part.
  // (ReplicationStream::Receive takes 16 KB.)
  static constexpr size_t kFullRead = 12'000;
  // The longest pause: what it adds to a latency.
  static constexpr std::chrono::microseconds kMaxPause{4'000};
  // From this many messages in kMeasured on, the stream is busy (10,000/s).
  static constexpr std::chrono::milliseconds kMeasured{10};
  static constexpr size_t kBusyMessages = 100;

  // Takes in a read; how long to pause before the next, zero: not at all.
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
