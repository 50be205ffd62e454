// ReadPacer: when to let the stream gather before reading on.
//
// The walsender sends message by message. A reader that wakes for each of
// them burns a third of its CPU on waking, and some of the walsender's too.
// So on a busy stream, after a short read, it pauses for a moment; never
// after a full read (libpq's buffer holds about 40 messages: there is more),
// and never on a quiet stream (latency). Figures: bench/README.md.
//
// Pure: it is told the time.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/time.h"

namespace walpost {

class ReadPacer {
 public:
  // How long a pause lasts.
  static constexpr std::chrono::microseconds kPause{250};
  // A read of fewer messages than this is short.
  static constexpr size_t kFullRead = 40;
  // From this many messages in kMeasured on, the stream is busy (20,000/s).
  static constexpr std::chrono::milliseconds kMeasured{5};
  static constexpr size_t kBusyMessages = 100;

  // Takes in that one read gave `messages`; says whether to pause before the
  // next.
  bool ShouldPauseAfter(size_t messages, MonotonicTime now) {
    if (now - since_ >= kMeasured) {
      busy_ = counted_ >= kBusyMessages && now - since_ < 4 * kMeasured;
      since_ = now;
      counted_ = 0;
    }
    counted_ += messages;
    return busy_ && messages < kFullRead;
  }

 private:
  MonotonicTime since_{};
  size_t counted_ = 0;
  bool busy_ = false;
};

}  // namespace walpost
