#include "kafka/client/last_answer.h"

#include <chrono>

namespace walpost {
namespace {

// Kafka's API keys.
constexpr int16_t kSaslHandshake = 17;
constexpr int16_t kApiVersions = 18;
constexpr int16_t kSaslAuthenticate = 36;

}  // namespace

std::shared_ptr<const LastAnswer> LastAnswer::Watch(rd_kafka_conf_t* conf) {
  auto answer = std::make_shared<LastAnswer>();
  ObserveResponses(conf, "walpost answers", answer);
  return answer;
}

std::optional<MonotonicTime> LastAnswer::at() const {
  const MonotonicTime::rep ticks = ticks_.load(std::memory_order_relaxed);
  if (ticks == 0) return std::nullopt;
  return MonotonicTime(MonotonicTime::duration(ticks));
}

void LastAnswer::OnResponse(int16_t api_key, rd_kafka_resp_err_t error) {
  const bool begins_connection = api_key == kApiVersions ||
                                 api_key == kSaslHandshake ||
                                 api_key == kSaslAuthenticate;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR || begins_connection) return;
  ticks_.store(std::chrono::steady_clock::now().time_since_epoch().count(),
               std::memory_order_relaxed);
}

}  // namespace walpost
