// BrokerContact: when the brokers of polled rows were last heard, and since
// when they acknowledge nothing.
//
// Owned by the PollingRelay. Pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"
#include "delivery/record_sink.h"

namespace walpost {

class BrokerContact {
 public:
  // How long a topic that the brokers do not know may still appear.
  static constexpr std::chrono::milliseconds kTopicPatience{5'000};
  // A sink reports once a second which brokers are up.
  static constexpr std::chrono::milliseconds kOutage{2'500};

  explicit BrokerContact(MonotonicTime now)
      : acknowledged_at_(now), heard_at_(now), connected_at_(now) {}

  // Call it a few times a second. `acknowledged`: records so far; `waits`: rows
  // wait for the brokers. True if records were acknowledged since the last
  // call.
  bool Look(uint64_t acknowledged, bool waits, const SinkHealth& sink,
            MonotonicTime now);

  bool were_reached() const { return were_reached_; }
  MonotonicTime heard_at() const { return heard_at_; }
  // When records were last acknowledged, or none waited for that.
  MonotonicTime acknowledged_at() const { return acknowledged_at_; }
  // False after an outage, when the brokers may have to create topics first.
  bool know_topics(MonotonicTime now) const { return now >= topics_known_at_; }

 private:
  uint64_t acknowledged_ = 0;
  MonotonicTime acknowledged_at_;
  MonotonicTime heard_at_;      // when a broker last sent something
  MonotonicTime connected_at_;  // when a connection was last up
  MonotonicTime topics_known_at_{};
  bool were_reached_ = false;
};

}  // namespace walpost
