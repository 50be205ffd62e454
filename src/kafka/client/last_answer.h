// LastAnswer: when a broker last answered a request of a client.
//
// Answers by which a connection begins (versions, SASL) do not count: a broker
// that then rejects the credentials is none that answers.
//
// Set by librdkafka's threads, read by any.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"

namespace walpost {

class LastAnswer {
 public:
  // Watches the client that is created with `conf`, which keeps what it needs.
  static std::shared_ptr<const LastAnswer> Watch(rd_kafka_conf_t* conf);

  // nullopt: none has answered yet.
  std::optional<MonotonicTime> at() const;

 private:
  static rd_kafka_resp_err_t OnNew(rd_kafka_t* client, const rd_kafka_conf_t*,
                                   void* self, char*, size_t);
  static rd_kafka_resp_err_t OnResponse(rd_kafka_t*, int, const char*, int32_t,
                                        int16_t api_key, int16_t, int32_t,
                                        size_t, int64_t,
                                        rd_kafka_resp_err_t error, void* self);

  std::atomic<MonotonicTime::rep> ticks_ = 0;  // 0: none
};

}  // namespace walpost
