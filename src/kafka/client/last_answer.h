// LastAnswer: time when a broker last answered a request of a client.
//
// Answers by which a connection begins (versions, SASL) do not count: the
// broker may still reject the credentials.
//
// Set by librdkafka's threads, read by any.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"
#include "kafka/client/response_observer.h"

namespace walpost {

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

}  // namespace walpost
