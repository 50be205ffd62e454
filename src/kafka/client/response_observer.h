// ResponseObserver: is told how each request of a client has ended.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>

namespace walpost {

class ResponseObserver {
 public:
  virtual ~ResponseObserver() = default;

  // Called on librdkafka's threads. `api_key`: Kafka's number of the request.
  // `error`: it has no answer: its connection has ended, or its time is over.
  virtual void OnResponse(int16_t api_key, rd_kafka_resp_err_t error) = 0;
};

// Has the observer told by the client that is created with `conf`, which keeps
// it. `name`: another one for each observer of a client.
void ObserveResponses(rd_kafka_conf_t* conf, const char* name,
                      std::shared_ptr<ResponseObserver> observer);

}  // namespace walpost
