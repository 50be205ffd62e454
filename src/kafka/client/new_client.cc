#include "kafka/client/new_client.h"

#include "fmt/format.h"
#include "kafka/client/token_refresher.h"

namespace walpost {

absl::StatusOr<rd_kafka_t*> NewKafkaClient(
    rd_kafka_type_t type, KafkaConf conf,
    const std::vector<std::string>& token_command) {
  char reason[512];
  if (!token_command.empty()) {
    rd_kafka_conf_set(conf.get(), "sasl.mechanisms", "OAUTHBEARER", nullptr, 0);
    TokenRefresher::Install(conf.get(), token_command);
  }
  rd_kafka_t* client = rd_kafka_new(type, conf.get(), reason, sizeof(reason));
  if (client == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("kafka.properties: {}", reason));
  }
  (void)conf.release();  // librdkafka owns it now
  TokenRefresher::Start(client);
  return client;
}

void AwaitToken(rd_kafka_t* client) {
  if (const TokenRefresher* refresher = TokenRefresher::Of(client)) {
    refresher->AwaitFirst();
  }
}

}  // namespace walpost
