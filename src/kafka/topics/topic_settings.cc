#include "kafka/topics/topic_settings.h"

#include <array>

#include "kafka/client/admin_question.h"

namespace walpost {

std::map<std::string, std::string> DescribeSettings(
    rd_kafka_t* client, rd_kafka_ResourceType_t type, const std::string& name,
    int timeout_millis) {
  std::map<std::string, std::string> settings;
  const KafkaConfigResource resource(
      rd_kafka_ConfigResource_new(type, name.c_str()));
  std::array<rd_kafka_ConfigResource_t*, 1> resources = {resource.get()};
  const auto ask = [&](rd_kafka_t* asked, rd_kafka_AdminOptions_t* options,
                       rd_kafka_queue_t* answers) {
    rd_kafka_DescribeConfigs(asked, resources.data(), resources.size(), options,
                             answers);
  };
  const KafkaEvent event =
      AskController(client, AfterMillis(timeout_millis), ask);
  if (event == nullptr) return settings;
  const auto* result = rd_kafka_event_DescribeConfigs_result(event.get());
  size_t count = 0;
  if (result == nullptr) return settings;
  const auto** described =
      rd_kafka_DescribeConfigs_result_resources(result, &count);
  if (count == 0) return settings;
  const auto** entries = rd_kafka_ConfigResource_configs(described[0], &count);
  for (size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (value != nullptr) {
      settings[rd_kafka_ConfigEntry_name(entries[i])] = value;
    }
  }
  return settings;
}

}  // namespace walpost
