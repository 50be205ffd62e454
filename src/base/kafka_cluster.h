// The id of a Kafka cluster.
#pragma once

namespace walpost {

// Stands for the id of brokers that answer and report none: Event Hubs, some
// proxies. An empty id means that no broker has answered yet.
inline constexpr char kUnnamedCluster[] = "unnamed";

}  // namespace walpost
