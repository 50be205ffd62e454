// Kafka options of verbs that read topics.
#pragma once

#include <chrono>

#include "base/status_macros.h"
#include "config/config.h"
#include "kafka/client/admin_request.h"
#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/new_client.h"
#include "verify/topic_reader.h"

namespace walpost {

inline TopicReaderOptions TopicReaderOptionsOf(const Config& config) {
  // Brokers look for expired transactions every 10 s.
  constexpr std::chrono::seconds kUntilAborted{15};
  TopicReaderOptions options{config.kafka.brokers, config.kafka.properties,
                             &WhyUnreached};
  options.create = [command = config.kafka.token_command](
                       rd_kafka_conf_t* conf) -> absl::StatusOr<rd_kafka_t*> {
    WALPOST_ASSIGN_OR_RETURN(
        rd_kafka_t * client,
        NewKafkaClient(RD_KAFKA_CONSUMER, KafkaConf(conf), command));
    AwaitToken(client);
    return client;
  };
  options.transaction_limit = config.transactions.timeout + kUntilAborted;
  const auto describe = [](rd_kafka_ResourceType_t type) {
    return [type](rd_kafka_t* client, const std::string& name) {
      constexpr int kAnswerMillis = 10'000;
      return DescribeSettings(client, type, name, kAnswerMillis);
    };
  };
  options.describe = describe(RD_KAFKA_RESOURCE_TOPIC);
  options.describe_broker = describe(RD_KAFKA_RESOURCE_BROKER);
  return options;
}

}  // namespace walpost
