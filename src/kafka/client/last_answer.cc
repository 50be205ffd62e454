#include "kafka/client/last_answer.h"

namespace walpost {
namespace {

using Owner = std::shared_ptr<LastAnswer>;

constexpr char kName[] = "walpost answers";

// Kafka's API keys.
constexpr int16_t kSaslHandshake = 17;
constexpr int16_t kApiVersions = 18;
constexpr int16_t kSaslAuthenticate = 36;

rd_kafka_resp_err_t Release(void* owner) {
  delete static_cast<Owner*>(owner);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace

std::shared_ptr<const LastAnswer> LastAnswer::Watch(rd_kafka_conf_t* conf) {
  auto answer = std::make_shared<LastAnswer>();
  rd_kafka_conf_interceptor_add_on_new(conf, kName, OnNew, answer.get());
  // A client destroys its configuration after its threads have ended.
  rd_kafka_conf_interceptor_add_on_conf_destroy(conf, kName, Release,
                                                new Owner(answer));
  return answer;
}

std::optional<MonotonicTime> LastAnswer::at() const {
  const MonotonicTime::rep ticks = ticks_.load(std::memory_order_relaxed);
  if (ticks == 0) return std::nullopt;
  return MonotonicTime(MonotonicTime::duration(ticks));
}

rd_kafka_resp_err_t LastAnswer::OnNew(rd_kafka_t* client,
                                      const rd_kafka_conf_t*, void* self, char*,
                                      size_t) {
  return rd_kafka_interceptor_add_on_response_received(client, kName,
                                                       OnResponse, self);
}

// librdkafka calls this with an error for a request that has no answer.
rd_kafka_resp_err_t LastAnswer::OnResponse(rd_kafka_t*, int, const char*,
                                           int32_t, int16_t api_key, int16_t,
                                           int32_t, size_t, int64_t,
                                           rd_kafka_resp_err_t error,
                                           void* self) {
  const bool begins_connection = api_key == kApiVersions ||
                                 api_key == kSaslHandshake ||
                                 api_key == kSaslAuthenticate;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR && !begins_connection) {
    static_cast<LastAnswer*>(self)->ticks_.store(
        std::chrono::steady_clock::now().time_since_epoch().count(),
        std::memory_order_relaxed);
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace walpost
