// The id of a cluster of brokers.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"

namespace walpost {

// Stands for the id of brokers that answer and report none: Event Hubs, some
// proxies. An empty id means that no broker has answered yet.
inline constexpr char kUnnamedCluster[] = "unnamed";
// The same for other sinks: one kind of brokers does not have what another one
// acknowledged.
inline constexpr char kUnnamedNats[] = "unnamed:nats";
inline constexpr char kUnnamedRabbitmq[] = "unnamed:rabbitmq";
inline constexpr char kUnnamedRedis[] = "unnamed:redis";

// Ids of clusters of RabbitMQ begin so, and have their name behind it.
inline constexpr std::string_view kRabbitmqClusterPrefix = "rabbitmq:";

// Without spaces: the birth record has ids as words of a line.
inline std::string RabbitmqClusterId(const std::string& name) {
  return std::string(kRabbitmqClusterPrefix) +
         absl::StrReplaceAll(
             name, {{"%", "%25"}, {" ", "%20"}, {"\t", "%09"}, {"\n", "%0A"}});
}
inline bool IsRabbitmqCluster(std::string_view id) {
  return id == kUnnamedRabbitmq || id.starts_with(kRabbitmqClusterPrefix);
}

inline bool IsUnnamedCluster(std::string_view id) {
  return id == kUnnamedCluster || id.starts_with("unnamed:");
}

}  // namespace walpost
