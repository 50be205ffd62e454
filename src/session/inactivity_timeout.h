// InactivityTimeout: decides when a server has been silent for so long,
// although it was asked, that its connection must be given up.
//
// A connection that a device on the way has forgotten stays silent for ever. A
// walsender is silent for long in a huge transaction, so the limit doubles each
// time, over connections, until one has brought more than a greeting.
//
// Pure: the caller passes the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/time.h"

namespace walpost {

class InactivityTimeout {
 public:
  // Time without a message from the server after which to ask for one.
  static constexpr std::chrono::milliseconds kAskAfter{2500};

  explicit InactivityTimeout(std::chrono::milliseconds wal_sender_timeout)
      : first_limit_(wal_sender_timeout), limit_(wal_sender_timeout) {}

  // A connection begins to stream.
  void Start(MonotonicTime now) {
    heard_at_ = now;
    frames_ = 0;
  }
  // Whole frames arrived.
  void OnFrames(size_t count, MonotonicTime now) {
    heard_at_ = now;
    frames_ += count;
    if (frames_ > kSignsOfLife) limit_ = first_limit_;
  }
  // A part of a frame arrived; or we do not read, so silence does not count.
  void OnSign(MonotonicTime now) { heard_at_ = now; }

  std::chrono::milliseconds Length(MonotonicTime now) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now -
                                                                 heard_at_);
  }
  bool MustAsk(MonotonicTime now) const { return now - heard_at_ > kAskAfter; }

  // The limit, once it has passed.
  std::optional<std::chrono::milliseconds> OnTurn(MonotonicTime now) {
    if (Length(now) < limit_) return std::nullopt;
    const std::chrono::milliseconds passed = limit_;
    limit_ *= 2;
    return passed;
  }

 private:
  // Frames at the start of a connection, before there is anything to decode.
  static constexpr size_t kSignsOfLife = 3;

  std::chrono::milliseconds first_limit_;
  std::chrono::milliseconds limit_;
  MonotonicTime heard_at_{};
  size_t frames_ = 0;
};

}  // namespace walpost
