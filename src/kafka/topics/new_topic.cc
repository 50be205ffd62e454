#include "kafka/topics/new_topic.h"

namespace walpost {

KafkaNewTopic MakeNewTopic(const std::string& topic,
                           const TopicCreation& creation, std::string& reason) {
  char text[512] = {};
  KafkaNewTopic made(rd_kafka_NewTopic_new(topic.c_str(), creation.partitions,
                                           creation.replication_factor, text,
                                           sizeof(text)));
  if (made == nullptr) {
    reason = text;
    return made;
  }
  for (const auto& [name, value] : creation.config) {
    rd_kafka_NewTopic_set_config(made.get(), name.c_str(), value.c_str());
  }
  return made;
}

}  // namespace walpost
