// ReadPacer: decides how long data gathers before the next read.
//
// The walsender sends message by message. A reader that wakes for each one uses
// a third of its CPU for waking, and some of the walsender's, and makes a
// request to the brokers of each event. So on a busy stream, after a short
// read, it pauses, and what comes meanwhile goes out together. As Nagle's
// algorithm does, it takes its measure from the acknowledgements: brokers that
// are slow, or short of CPU, get fewer and larger requests. It never pauses
// before all is read that is there, nor where nothing would gather (latency).
// Figures: bench/README.md.
//
// Pure: the caller passes the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/time.h"

namespace walpost {

class ReadPacer {
 public:
  using Duration = MonotonicTime::duration;

  // Result of one read, in whole messages.
  struct Taken {
    size_t messages = 0;
    size_t bytes = 0;
    size_t largest = 0;  // bytes of a message
    size_t events = 0;   // that were handed on

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
  // A pause is as long as this many acknowledgements take.
  static constexpr int kAcknowledgements = 6;
  // It ends when so much has gathered. A Unix socket holds some 160 messages of
  // 300 bytes, and the walsender would wait for room.
  static constexpr size_t kGatheredMessages = 128;
  static constexpr size_t kGatheredBytes = kFullRead;
  // A stream that is faster needs no pause at the end: more comes at once.
  static constexpr std::chrono::milliseconds kSlow{1};
  // There is no pause in which fewer events than this are expected.
  static constexpr size_t kWorthwhile = 2;
  // The rate of events is measured for as long.
  static constexpr std::chrono::milliseconds kMeasured{10};

  // `longest`: of a pause, which is added to the latency; 0: there is none.
  explicit ReadPacer(Duration longest) : longest_(longest) {}

  // Notes a read. Returns the pause before the next; zero: none.
  Duration PauseAfter(Taken read, MonotonicTime now) {
    Measure(read, now);
    if (read.events > 0 && !unacknowledged_since_) unacknowledged_since_ = now;
    was_full_ = read.bytes + read.largest > kFullRead;
    return was_full_ ? Duration() : Pause(now);
  }

  // Nothing more is there. Returns the pause before the next read; zero: none.
  Duration PauseAtEnd(MonotonicTime now) {
    const bool was_full = std::exchange(was_full_, false);
    return was_full && time_to_gather_ >= kSlow ? Pause(now) : Duration();
  }

  // Every event that was handed on is acknowledged.
  void OnAllAcknowledged(MonotonicTime now) {
    if (!unacknowledged_since_) return;
    const Duration took = std::min(now - *unacknowledged_since_, longest_);
    acknowledged_after_ += (took - acknowledged_after_) / kSmoothing;
    unacknowledged_since_.reset();
  }

 private:
  static constexpr int kSmoothing = 8;

  void Measure(Taken read, MonotonicTime now) {
    const Duration elapsed = now - since_;
    if (elapsed >= kMeasured) {
      const auto time_for = [elapsed](size_t wanted, size_t counted) {
        return elapsed * wanted / std::max<size_t>(counted, 1);
      };
      worthwhile_ = time_for(kWorthwhile, counted_.events);
      time_to_gather_ = std::min(time_for(kGatheredMessages, counted_.messages),
                                 time_for(kGatheredBytes, counted_.bytes));
      since_ = now;
      counted_ = {};
    }
    counted_.messages += read.messages;
    counted_.bytes += read.bytes;
    counted_.events += read.events;
  }

  Duration Pause(MonotonicTime now) const {
    const Duration pause =
        std::min({longest_, kAcknowledgements * AcknowledgementTime(now),
                  time_to_gather_});
    return pause < worthwhile_ ? Duration() : pause;
  }

  // At least what the oldest one without an acknowledgement has waited.
  Duration AcknowledgementTime(MonotonicTime now) const {
    if (!unacknowledged_since_) return acknowledged_after_;
    return std::max(acknowledged_after_, now - *unacknowledged_since_);
  }

  Duration longest_;
  bool was_full_ = false;  // the last read
  Duration acknowledged_after_{};
  std::optional<MonotonicTime> unacknowledged_since_;

  MonotonicTime since_{};
  Taken counted_;  // since then
  // In the period before, kWorthwhile events took so long, and a pause's
  // messages and bytes.
  Duration worthwhile_ = Duration::max();
  Duration time_to_gather_{};
};

}  // namespace walpost
