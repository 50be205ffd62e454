// FeedbackSchedule: decides when a status update to Postgres is due.
//
//  - a new confirmed LSN: within `interval`;
//  - nothing new: every `liveness`, well under wal_sender_timeout, whatever
//    Kafka does;
//  - a keepalive that requests a reply: at once if there is a new LSN, else at
//    most every kMinReplyInterval: a server that shuts down asks again as soon
//    as it is answered, 20,000 times a second (docs/delivery.md, P10).
//
// It also decides which LSN to send: none before the slot's position when the
// stream began. Another instance may have confirmed more than we know, and
// releases from before August 2025 move a slot back if they are told to (P2).
//
// Pure: the caller passes the time.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/lsn.h"
#include "base/time.h"

namespace walpost {

class FeedbackSchedule {
 public:
  static constexpr std::chrono::milliseconds kMinReplyInterval{50};

  // `slot`: position of the slot when the stream began.
  FeedbackSchedule(std::chrono::milliseconds interval,
                   std::chrono::milliseconds wal_sender_timeout,
                   Lsn slot = Lsn())
      : slot_(slot),
        interval_(interval),
        liveness_(std::clamp<std::chrono::milliseconds>(
            wal_sender_timeout / 3, std::chrono::milliseconds(100),
            std::chrono::seconds(3))) {}

  // The server asked for a reply.
  void OnReplyRequested() { reply_requested_ = true; }

  // LSN to send for `confirmed`: the same, or 0/0, which the server ignores.
  Lsn ToTell(Lsn confirmed) const {
    return confirmed < slot_ ? Lsn() : confirmed;
  }

  bool IsDue(Lsn confirmed, MonotonicTime now) const {
    return now >= DueAt(confirmed);
  }

  // Time of the next status if nothing else happens.
  MonotonicTime DueAt(Lsn confirmed) const {
    const bool news = ToTell(confirmed) > sent_;
    if (reply_requested_) {
      return news ? sent_at_ : sent_at_ + kMinReplyInterval;
    }
    return sent_at_ + (news ? std::min(interval_, liveness_) : liveness_);
  }

  void OnSent(Lsn confirmed, MonotonicTime now) {
    sent_ = ToTell(confirmed);
    sent_at_ = now;
    reply_requested_ = false;
  }

 private:
  Lsn slot_;
  std::chrono::milliseconds interval_;
  std::chrono::milliseconds liveness_;
  Lsn sent_;
  MonotonicTime sent_at_{};
  bool reply_requested_ = false;
};

}  // namespace walpost
