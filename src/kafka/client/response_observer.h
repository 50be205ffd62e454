// ResponseObserver: gets the outcome of each request of a client. There are
// two: LastAnswer and InDoubtRequests.
//
// They are set by librdkafka's threads, and read by any.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"

namespace walpost {

class ResponseObserver {
 public:
  virtual ~ResponseObserver() = default;

  // Called on librdkafka's threads. `api_key`: Kafka's number of the request.
  // `error`: there is no answer, because the connection has ended or the
  // request has timed out.
  virtual void OnResponse(int16_t api_key, rd_kafka_resp_err_t error) = 0;
};

// LastAnswer: time when a broker last answered a request of a client.
//
// Answers by which a connection begins (versions, SASL) do not count: the
// broker may still reject the credentials.
class LastAnswer final : public ResponseObserver {
 public:
  // Watches the client that is created with `conf`.
  static std::shared_ptr<const LastAnswer> Watch(rd_kafka_conf_t* conf);

  // nullopt: none has answered yet.
  std::optional<MonotonicTime> at() const;

  void OnResponse(int16_t api_key, rd_kafka_resp_err_t error) override;

 private:
  std::atomic<MonotonicTime::rep> ticks_ = 0;  // 0: none
};

// InDoubtRequests: says whether a request of a client to the coordinator of its
// transactions has had no answer.
//
// Such a request may still be on its way, although the client has connected
// again and repeated it. Before transactions version 2 (KIP-890), which
// librdkafka does not speak, all transactions of a producer have the same id
// and epoch: a late EndTxn ends the transaction that is open when it comes.
// Only another producer's epoch makes it void, so a client with unanswered
// requests is given up at the end of its transaction.
//
// A late record needs no such care: brokers know it by its sequence number.
class InDoubtRequests final : public ResponseObserver {
 public:
  // Watches the client that is created with `conf`.
  static std::shared_ptr<const InDoubtRequests> Watch(rd_kafka_conf_t* conf);

  // Stays true.
  bool any() const { return any_; }

  void OnResponse(int16_t api_key, rd_kafka_resp_err_t error) override;

 private:
  std::atomic<bool> any_ = false;
};

}  // namespace walpost
