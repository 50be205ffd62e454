#include "kafka/broker_trouble.h"

#include "fmt/format.h"
#include "kafka/handles.h"

namespace walpost {
namespace {

// Which settings of kafka.properties to look at; empty: of no known cause.
std::string_view Remedy(rd_kafka_resp_err_t code, std::string_view text) {
  if (text.starts_with("Failed to acquire SASL OAUTHBEARER token") ||
      text.find("invalid_token") != std::string_view::npos) {
    return "check sasl.oauthbearer.* in kafka.properties, and that the token "
           "endpoint answers";
  }
  switch (code) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
      return "check sasl.mechanism, sasl.username and sasl.password in "
             "kafka.properties";
    case RD_KAFKA_RESP_ERR__SSL:
      return "check security.protocol and ssl.ca.location in "
             "kafka.properties, and that the certificate of the brokers names "
             "the hosts of kafka.brokers";
    case RD_KAFKA_RESP_ERR__RESOLVE:
      return "check the hosts of kafka.brokers, and the name server";
    default:
      return "";
  }
}

// Without "(after 3ms in state CONNECT, 1 identical error(s) suppressed)".
std::string_view WithoutCounts(std::string_view text) {
  return text.substr(0, text.find(" (after "));
}

}  // namespace

bool BrokerTrouble::Note(rd_kafka_resp_err_t code, std::string_view text) {
  // That all are down says nothing that each of them has not said.
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && !text_.empty()) {
    return false;
  }
  const std::string_view remedy = Remedy(code, text);
  if (names_cause_ && remedy.empty()) return false;
  std::string now(WithoutCounts(text));
  if (!remedy.empty()) now += fmt::format("; {}", remedy);
  if (now == text_) return false;
  text_ = std::move(now);
  names_cause_ = !remedy.empty();
  return true;
}

bool BrokerTrouble::NoteLog(std::string_view facility, std::string_view line) {
  if (facility != "FAIL") return false;
  const size_t thread = line.find("]: ");  // "[thrd:host:9092/1]: "
  if (thread != std::string_view::npos) line.remove_prefix(thread + 3);
  return Note(RD_KAFKA_RESP_ERR__TRANSPORT, line);
}

void NoteEvents(rd_kafka_t* client, BrokerTrouble& trouble) {
  const KafkaQueue queue(rd_kafka_queue_get_main(client));
  for (;;) {
    const KafkaEvent event(rd_kafka_queue_poll(queue.get(), 0));
    if (event == nullptr) return;
    const rd_kafka_event_type_t type = rd_kafka_event_type(event.get());
    if (type == RD_KAFKA_EVENT_ERROR) {
      trouble.Note(rd_kafka_event_error(event.get()),
                   rd_kafka_event_error_string(event.get()));
    } else if (type == RD_KAFKA_EVENT_LOG) {
      const char* facility = "";
      const char* line = "";
      int level = 0;
      rd_kafka_event_log(event.get(), &facility, &line, &level);
      trouble.NoteLog(facility, line);
    }
  }
}

std::string WhyUnreached(rd_kafka_t* client, rd_kafka_resp_err_t error) {
  BrokerTrouble trouble;
  NoteEvents(client, trouble);
  return trouble.text().empty() ? rd_kafka_err2str(error) : trouble.text();
}

}  // namespace walpost
