#include "programs/kafka_output.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace walpost::bench {

void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

KafkaOutput::KafkaOutput(const std::string& brokers) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const std::pair<const char*, const char*> properties[] = {
      {"bootstrap.servers", brokers.c_str()}, {"acks", "all"},
      {"enable.idempotence", "true"},         {"linger.ms", "0"},
      {"compression.type", "none"},           {"partitioner", "murmur2_random"},
      {"socket.nagle.disable", "true"},
  };
  char reason[512];
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof(reason)) !=
        RD_KAFKA_CONF_OK) {
      Fail(reason);
    }
  }
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_dr_msg_cb(conf, OnDelivery);
  producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
  if (producer_ == nullptr) Fail(reason);
}

KafkaOutput::~KafkaOutput() { rd_kafka_destroy(producer_); }

void KafkaOutput::Produce(const Event& event) {
  rd_kafka_headers_t* headers = rd_kafka_headers_new(1);
  rd_kafka_header_add(headers, "id", 2, event.id.data(),
                      static_cast<ssize_t>(event.id.size()));
  while (true) {
    const rd_kafka_resp_err_t error = rd_kafka_producev(
        producer_, RD_KAFKA_V_TOPIC(event.topic.c_str()),
        RD_KAFKA_V_KEY(event.key.data(), event.key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(event.value.data()),
                         event.value.size()),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      Fail(std::string("produce: ") + rd_kafka_err2str(error));
    }
    rd_kafka_poll(producer_, 10);
  }
  ++in_flight_;
}

void KafkaOutput::WaitUntilInFlight(int64_t records) {
  rd_kafka_poll(producer_, 0);
  while (in_flight_ > records) rd_kafka_poll(producer_, 10);
}

void KafkaOutput::Flush() {
  rd_kafka_flush(producer_, 0);
  WaitUntilInFlight(0);
}

void KafkaOutput::OnDelivery(rd_kafka_t*, const rd_kafka_message_t* report,
                             void* self) {
  if (report->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    Fail(std::string("delivery: ") + rd_kafka_err2str(report->err));
  }
  --static_cast<KafkaOutput*>(self)->in_flight_;
}

}  // namespace walpost::bench
