// The id of a cluster of brokers.
#pragma once

#include <string_view>

namespace walpost {

// Stands for the id of brokers that answer and report none: Event Hubs, some
// proxies. An empty id means that no broker has answered yet.
inline constexpr char kUnnamedCluster[] = "unnamed";
// The same for other sinks: one kind of brokers does not have what another one
// acknowledged.
inline constexpr char kUnnamedNats[] = "unnamed:nats";
inline constexpr char kUnnamedRabbitmq[] = "unnamed:rabbitmq";
inline constexpr char kUnnamedRedis[] = "unnamed:redis";

inline bool IsUnnamedCluster(std::string_view id) {
  return id == kUnnamedCluster || id.starts_with("unnamed:");
}

}  // namespace walpost
