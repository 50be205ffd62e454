#include "kafka/client/response_observer.h"

#include <string>
#include <utility>

namespace walpost {
namespace {

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

}  // namespace

void ObserveResponses(rd_kafka_conf_t* conf, const char* name,
                      std::shared_ptr<ResponseObserver> observer) {
  auto* owner = new Owner{name, std::move(observer)};
  rd_kafka_conf_interceptor_add_on_new(conf, name, OnNew, owner);
  // A client destroys its configuration after its threads have ended.
  rd_kafka_conf_interceptor_add_on_conf_destroy(conf, name, Release, owner);
}

}  // namespace walpost
