// ResponseObserver: gets the outcome of each request of a client.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>

namespace walpost {

class ResponseObserver {
 public:
  virtual ~ResponseObserver() = default;

  // Called on librdkafka's threads. `api_key`: Kafka's number of the request.
  // `error`: there is no answer, because the connection has ended or the
  // request has timed out.
  virtual void OnResponse(int16_t api_key, rd_kafka_resp_err_t error) = 0;
};

// Registers the observer with the client that is created with `conf`, which
// keeps it. `name` differs for each observer of a client.
void ObserveResponses(rd_kafka_conf_t* conf, const char* name,
                      std::shared_ptr<ResponseObserver> observer);

}  // namespace walpost
