#include "kafka/transactions/in_doubt_requests.h"

namespace walpost {
namespace {

// Kafka's API keys.
constexpr int16_t kAddPartitionsToTxn = 24;
constexpr int16_t kEndTxn = 26;

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

}  // namespace walpost
