// InDoubtRequests: whether a client asked something of the coordinator of
// its transactions and had no answer to it.
//
// Such a request may still be on its way, although the client has connected
// again and repeated it. Before transactions version 2 (KIP-890), which
// librdkafka does not speak, all transactions of a producer have the same id
// and epoch: a late EndTxn ends the transaction that is open when it comes.
// Only another producer's epoch makes it void, so a client with unanswered
// requests is given up at the end of its transaction.
//
// A late record needs no such care: brokers know it by its sequence number.
//
// Set by librdkafka's threads, read by any.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace walpost {

class InDoubtRequests {
 public:
  // Watches the client that is created with `conf`, which keeps what it needs.
  static std::shared_ptr<const InDoubtRequests> Watch(rd_kafka_conf_t* conf);

  // Stays true.
  bool any() const { return any_; }

 private:
  static rd_kafka_resp_err_t OnNew(rd_kafka_t* client, const rd_kafka_conf_t*,
                                   void* self, char*, size_t);
  static rd_kafka_resp_err_t OnResponse(rd_kafka_t*, int, const char*, int32_t,
                                        int16_t api_key, int16_t, int32_t,
                                        size_t, int64_t,
                                        rd_kafka_resp_err_t error, void* self);

  std::atomic<bool> any_ = false;
};

}  // namespace walpost
