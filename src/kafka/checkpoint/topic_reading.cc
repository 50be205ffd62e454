#include "kafka/checkpoint/topic_reading.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "kafka/client/new_client.h"
#include "kafka/producer/producer_properties.h"

namespace walpost {

absl::StatusOr<KafkaClient> MakeReadingClient(const ProducerOptions& options,
                                              Isolation isolation) {
  KafkaConf conf(rd_kafka_conf_new());
  for (const auto& [property, value] : options.properties) {
    WALPOST_ASSIGN_OR_RETURN(const std::string now, value.Read());
    WALPOST_RETURN_IF_ERROR(SetKafkaProperty(conf.get(), property, now));
  }
  const std::pair<const char*, std::string> own[] = {
      {"bootstrap.servers", options.brokers},
      {"client.id", options.client_id + "-checkpoint"},
      {"allow.auto.create.topics", "false"},
      {"enable.partition.eof", "true"},
      {"auto.offset.reset", "earliest"},
      {"isolation.level", isolation == Isolation::kCommitted
                              ? "read_committed"
                              : "read_uncommitted"},
      {"fetch.wait.max.ms", "10"},
      {"reconnect.backoff.ms", "50"},
      {"reconnect.backoff.max.ms", "1000"},
  };
  for (const auto& [property, value] : own) {
    WALPOST_RETURN_IF_ERROR(SetKafkaProperty(conf.get(), property, value));
  }
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  // Nobody reads this client's logs; its errors are sufficient.
  rd_kafka_conf_set_log_cb(conf.get(), nullptr);
  WALPOST_ASSIGN_OR_RETURN(rd_kafka_t * client,
                           NewKafkaClient(RD_KAFKA_CONSUMER, std::move(conf),
                                          options.token_command));
  return KafkaClient(client);
}

}  // namespace walpost
