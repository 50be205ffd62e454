#include "health/broker_contact.h"

#include <algorithm>
#include <utility>

namespace walpost {

bool BrokerContact::Look(uint64_t acknowledged, bool waits,
                         const SinkHealth& sink, MonotonicTime now) {
  const bool moved = std::exchange(acknowledged_, acknowledged) != acknowledged;
  const bool is_connected = moved || sink.brokers_up > 0;
  if (moved || !waits) acknowledged_at_ = now;
  heard_at_ = std::max(heard_at_, moved ? now : sink.heard_at);
  were_reached_ = were_reached_ || is_connected;
  if (is_connected) connected_at_ = now;
  if (now - connected_at_ > kOutage) topics_known_at_ = now + kTopicPatience;
  return moved;
}

}  // namespace walpost
