// TopicCreation: settings of the topics that walpost creates
// (`create_topics`).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace walpost {

struct TopicCreation {
  static constexpr int kBrokersDefault = -1;

  int partitions = kBrokersDefault;
  int replication_factor = kBrokersDefault;
  // Settings of the topic, such as retention.ms.
  std::vector<std::pair<std::string, std::string>> config;

  friend bool operator==(const TopicCreation&, const TopicCreation&) = default;
};

}  // namespace walpost
