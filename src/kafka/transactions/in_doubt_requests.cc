#include "kafka/transactions/in_doubt_requests.h"

namespace walpost {
namespace {

using Owner = std::shared_ptr<InDoubtRequests>;

constexpr char kName[] = "walpost";

// Kafka's API keys.
constexpr int16_t kAddPartitionsToTxn = 24;
constexpr int16_t kEndTxn = 26;

rd_kafka_resp_err_t Release(void* owner) {
  delete static_cast<Owner*>(owner);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace

std::shared_ptr<const InDoubtRequests> InDoubtRequests::Watch(
    rd_kafka_conf_t* conf) {
  auto requests = std::make_shared<InDoubtRequests>();
  rd_kafka_conf_interceptor_add_on_new(conf, kName, OnNew, requests.get());
  // A client destroys its configuration after its threads have ended.
  rd_kafka_conf_interceptor_add_on_conf_destroy(conf, kName, Release,
                                                new Owner(requests));
  return requests;
}

rd_kafka_resp_err_t InDoubtRequests::OnNew(rd_kafka_t* client,
                                           const rd_kafka_conf_t*, void* self,
                                           char*, size_t) {
  return rd_kafka_interceptor_add_on_response_received(client, kName,
                                                       OnResponse, self);
}

// librdkafka calls this with an error for each request that it gives up or
// repeats because its connection has ended or its time is over.
rd_kafka_resp_err_t InDoubtRequests::OnResponse(
    rd_kafka_t*, int, const char*, int32_t, int16_t api_key, int16_t, int32_t,
    size_t, int64_t, rd_kafka_resp_err_t error, void* self) {
  const bool is_of_transaction =
      api_key == kAddPartitionsToTxn || api_key == kEndTxn;
  if (is_of_transaction && error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    static_cast<InDoubtRequests*>(self)->any_ = true;
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace walpost
