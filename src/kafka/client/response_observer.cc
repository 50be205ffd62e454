#include "kafka/client/response_observer.h"

#include <chrono>
#include <string>
#include <utility>

namespace walpost {
namespace {

// Kafka's API keys.
constexpr int16_t kSaslHandshake = 17;
constexpr int16_t kApiVersions = 18;
constexpr int16_t kAddPartitionsToTxn = 24;
constexpr int16_t kEndTxn = 26;
constexpr int16_t kSaslAuthenticate = 36;

struct Owner {
  std::string name;
  std::shared_ptr<ResponseObserver> observer;
};

rd_kafka_resp_err_t OnResponse(rd_kafka_t*, int, const char*, int32_t,
                               int16_t api_key, int16_t, int32_t, size_t,
                               int64_t, rd_kafka_resp_err_t error,
                               void* owner) {
  static_cast<Owner*>(owner)->observer->OnResponse(api_key, error);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t OnNew(rd_kafka_t* client, const rd_kafka_conf_t*,
                          void* owner, char*, size_t) {
  return rd_kafka_interceptor_add_on_response_received(
      client, static_cast<Owner*>(owner)->name.c_str(), OnResponse, owner);
}

rd_kafka_resp_err_t Release(void* owner) {
  delete static_cast<Owner*>(owner);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

// The client that is created with `conf` keeps the observer. `name` differs for
// each observer of a client.
void ObserveResponses(rd_kafka_conf_t* conf, const char* name,
                      std::shared_ptr<ResponseObserver> observer) {
  auto* owner = new Owner{name, std::move(observer)};
  rd_kafka_conf_interceptor_add_on_new(conf, name, OnNew, owner);
  // A client destroys its configuration after its threads have ended.
  rd_kafka_conf_interceptor_add_on_conf_destroy(conf, name, Release, owner);
}

}  // namespace

std::shared_ptr<const InDoubtRequests> InDoubtRequests::Watch(
    rd_kafka_conf_t* conf) {
  auto requests = std::make_shared<InDoubtRequests>();
  ObserveResponses(conf, "walpost doubts", requests);
  return requests;
}

void InDoubtRequests::OnResponse(int16_t api_key, rd_kafka_resp_err_t error) {
  const bool is_of_transaction =
      api_key == kAddPartitionsToTxn || api_key == kEndTxn;
  if (is_of_transaction && error != RD_KAFKA_RESP_ERR_NO_ERROR) any_ = true;
}

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
