#include "kafka/client/connection_diagnosis.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "fmt/format.h"
#include "kafka/client/handles.h"
#include "kafka/client/token_refresher.h"

namespace walpost {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Follows the size that librdkafka has read from bytes of another protocol.
constexpr std::string_view kAnswerOfOthers =
    ": increase receive.message.max.bytes";

// An empty list: SASL is not spoken there.
constexpr std::string_view kNoMechanism = "broker's supported mechanisms: ";

// "... (after 312ms in state UP)".
bool IsInFirstSecondUp(std::string_view text) {
  constexpr std::string_view kAfter = " (after ";
  constexpr size_t kMaxDigits = 3;
  const size_t after = text.find(kAfter);
  if (after == std::string_view::npos) return false;
  text.remove_prefix(after + kAfter.size());
  const size_t digits = text.find("ms in state UP");
  return digits <= kMaxDigits;
}

// A broker gives no reason when it closes a connection; the moment shows it.
//
//   127.0.0.1:9093/bootstrap: Disconnected: connection closed by peer: receive
//   0 after POLLIN (after 2ms in state APIVERSION_QUERY)
//
// If the connection was up, only the first second counts: later the broker
// stops or the connection was idle.
std::string_view RemedyOfClosing(std::string_view text) {
  const bool is_tls =
      text.starts_with("ssl://") || text.starts_with("sasl_ssl://");
  if (is_tls && Has(text, "in state SSL_HANDSHAKE")) {
    return "the listener may be one without TLS: set security.protocol to "
           "PLAINTEXT or SASL_PLAINTEXT in kafka.properties, or the port of "
           "the TLS listener in kafka.brokers";
  }
  const bool is_query = Has(text, "in state APIVERSION_QUERY");
  if (is_query && text.starts_with("sasl_plaintext://")) {
    return "the listener may expect TLS: set security.protocol to SASL_SSL in "
           "kafka.properties";
  }
  if (is_query && !is_tls) {
    return "the listener may expect TLS: set security.protocol to SSL or "
           "SASL_SSL in kafka.properties";
  }
  const bool is_early = IsInFirstSecondUp(text);
  if (is_early && text.starts_with("ssl://")) {
    return "the listener may ask for a password: set security.protocol to "
           "SASL_SSL, and sasl.mechanism, sasl.username and sasl.password in "
           "kafka.properties";
  }
  if (is_early && !text.starts_with("sasl_")) {
    return "the listener may ask for a password: set security.protocol to "
           "SASL_PLAINTEXT, and sasl.mechanism, sasl.username and "
           "sasl.password in kafka.properties";
  }
  return "";
}

// Removes the advice of librdkafka for an answer that is no answer of a broker,
// and "(after 3ms in state CONNECT, 1 identical error(s) suppressed)".
std::string_view WithoutCounts(std::string_view text) {
  text = WithoutTokenConfig(text);
  return text.substr(
      0, std::min(text.find(" (after "), text.find(kAnswerOfOthers)));
}

// ExplainTokenError
bool IsOfTokenCommand(std::string_view text) {
  return text.starts_with("kafka.token_command: ");
}

bool IsOfRejectedToken(std::string_view text) {
  return text.starts_with("Kafka rejects the token of kafka.token_command");
}

bool IsOfToken(std::string_view text) {
  return IsOfTokenCommand(text) || IsOfRejectedToken(text) ||
         text.starts_with("Failed to acquire SASL OAUTHBEARER token") ||
         Has(text, "invalid_token");
}

bool IsOfClientCertificate(std::string_view text) {
  return Has(text, "SSL alert number") && Has(text, "certificate");
}

bool IsOfCredentials(rd_kafka_resp_err_t code, std::string_view text) {
  return IsOfToken(text) || IsOfClientCertificate(text) ||
         Has(text, "certificate verify failed") ||
         code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
         code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED;
}

// Settings of kafka.properties to check; empty: the cause is not known.
std::string_view Remedy(rd_kafka_resp_err_t code, std::string_view text) {
  if (IsOfTokenCommand(text)) {
    return "run the program of kafka.token_command as the user of walpost: it "
           "must print a token";
  }
  if (IsOfRejectedToken(text)) {
    return "compare the audience, issuer, signature and end of the token with "
           "what the brokers expect; their log says what they reject";
  }
  if (IsOfToken(text)) {
    return "check sasl.oauthbearer.* in kafka.properties, and that the token "
           "endpoint answers";
  }
  if (IsOfClientCertificate(text)) {
    return "the brokers ask for a client certificate that they trust: check "
           "ssl.certificate.location and ssl.key.location in "
           "kafka.properties";
  }
  if (Has(text, kAnswerOfOthers)) {
    return "no Kafka broker answers there, or its listener expects TLS: "
           "correct kafka.brokers, or set security.protocol to SSL or SASL_SSL "
           "in kafka.properties";
  }
  if (Has(text, "closed by peer")) {
    const std::string_view remedy = RemedyOfClosing(text);
    if (!remedy.empty()) return remedy;
  }
  if (WithoutCounts(text).ends_with(kNoMechanism)) {
    return "the listener asks for no password: set security.protocol to "
           "PLAINTEXT or SSL in kafka.properties, or the port of the listener "
           "that does in kafka.brokers";
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

// "sasl_ssl://host:9092/1: REASON": the connection to a broker that has named
// itself. The one that the client begins with ends in "/bootstrap".
struct ToBroker {
  int32_t node = 0;
  std::string_view address;
  std::string_view reason;
};

std::optional<ToBroker> ParseConnection(std::string_view text) {
  const size_t protocol = text.find("://");
  if (protocol != std::string_view::npos && protocol < text.find(' ')) {
    text.remove_prefix(protocol + 3);
  }
  const size_t slash = text.find('/');
  const size_t colon = text.find(": ");
  if (slash == std::string_view::npos || colon == std::string_view::npos ||
      slash > colon) {
    return std::nullopt;
  }
  ToBroker broker{0, text.substr(0, slash), text.substr(colon + 2)};
  const std::string_view node = text.substr(slash + 1, colon - slash - 1);
  const char* end = node.data() + node.size();
  const auto [rest, error] = std::from_chars(node.data(), end, broker.node);
  if (error != std::errc() || rest != end) return std::nullopt;
  return broker;
}

// "kafka-1:9092, ssl://kafka-2:9093"
bool IsListed(std::string_view brokers, std::string_view address) {
  while (!brokers.empty()) {
    std::string_view listed = brokers.substr(0, brokers.find(','));
    brokers.remove_prefix(std::min(brokers.size(), listed.size() + 1));
    const size_t begin = listed.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    listed = listed.substr(begin, listed.find_last_not_of(" \t") + 1 - begin);
    const size_t protocol = listed.find("://");
    if (protocol != std::string_view::npos) listed.remove_prefix(protocol + 3);
    if (listed == address) return true;
  }
  return false;
}

}  // namespace

std::string DescribeUnreachable(int32_t node, std::string_view address,
                                std::string_view reason) {
  return fmt::format(
      "broker {} says that its address is {}, which cannot be reached from "
      "here: {}",
      node, address, reason);
}

bool ConnectionDiagnosis::NoteAdvertised(int32_t node, std::string_view address,
                                         std::string_view reason) {
  const bool is_known = unreachable_.contains(node);
  const std::string what = DescribeUnreachable(node, address, reason);
  unreachable_[node] = {std::string(reason), what,
                        fmt::format("{}; {}", what, kCorrectAdvertised)};
  return !is_known;
}

void ConnectionDiagnosis::OnUp(const std::vector<int32_t>& nodes) {
  for (const int32_t node : nodes) {
    unreachable_.erase(node);
    reached_.insert(node);
  }
  text_.clear();
  cause_.clear();
  remedy_ = "";
  is_of_credentials_ = false;
}

std::string ConnectionDiagnosis::WhyUnreachable(int32_t node) const {
  const auto found = unreachable_.find(node);
  return found == unreachable_.end() ? "" : found->second.reason;
}

std::string_view WithoutTokenConfig(std::string_view text) {
  constexpr std::string_view kName = "sasl.oauthbearer.config";
  const size_t at = text.find(kName);
  return at == std::string_view::npos ? text
                                      : text.substr(0, at + kName.size());
}

std::string_view ConnectionDiagnosis::unreachable() const {
  if (unreachable_.empty()) return "";
  return unreachable_.begin()->second.what;
}

const std::string& ConnectionDiagnosis::text() const {
  const bool is_other = !text_.empty() || unreachable_.empty();
  return is_other ? text_ : unreachable_.begin()->second.text;
}

bool ConnectionDiagnosis::Note(rd_kafka_resp_err_t code,
                               std::string_view text) {
  // "All brokers down" adds nothing to the errors of each broker.
  const bool is_all = code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
  if (is_all && !this->text().empty()) return false;
  const std::optional<ToBroker> broker = ParseConnection(WithoutCounts(text));
  // A broker that was up speaks SASL; it rejects a login again that comes too
  // early or too late in the same way.
  const bool is_login_again = broker && reached_.contains(broker->node) &&
                              WithoutCounts(text).ends_with(kNoMechanism);
  const std::string_view remedy = is_login_again ? "" : Remedy(code, text);
  const bool has_no_way = remedy.empty() || code == RD_KAFKA_RESP_ERR__RESOLVE;
  if (broker && has_no_way && !Has(text, "in state UP") &&
      !reached_.contains(broker->node) && !brokers_.empty() &&
      !IsListed(brokers_, broker->address)) {
    return NoteAdvertised(broker->node, broker->address, broker->reason);
  }
  // The same remedy may come with two alternating texts.
  const bool is_known = remedy.empty() || remedy == remedy_;
  if (!remedy_.empty() && is_known) return false;
  const std::string_view cause = WithoutCounts(text);
  if (remedy.empty() && cause == cause_) return false;
  cause_ = cause;
  remedy_ = remedy;
  is_of_credentials_ = IsOfCredentials(code, text);
  text_ = remedy.empty() ? cause_ : fmt::format("{}; {}", cause_, remedy_);
  return true;
}

std::string ConnectionDiagnosis::advice() const {
  if (text_.empty() || !remedy_.empty()) return text();
  return fmt::format("{}; {}", text_, kUsualAdvice);
}

bool ConnectionDiagnosis::NoteLog(std::string_view facility,
                                  std::string_view line) {
  if (facility != "FAIL") return false;
  const size_t thread = line.find("]: ");  // "[thrd:host:9092/1]: "
  if (thread != std::string_view::npos) line.remove_prefix(thread + 3);
  return Note(RD_KAFKA_RESP_ERR__TRANSPORT, line);
}

void NoteEvents(rd_kafka_t* client, ConnectionDiagnosis& trouble) {
  const KafkaQueue queue(rd_kafka_queue_get_main(client));
  for (;;) {
    const KafkaEvent event(rd_kafka_queue_poll(queue.get(), 0));
    if (event == nullptr) return;
    const rd_kafka_event_type_t type = rd_kafka_event_type(event.get());
    if (type == RD_KAFKA_EVENT_ERROR) {
      trouble.Note(
          rd_kafka_event_error(event.get()),
          ExplainTokenError(client, rd_kafka_event_error_string(event.get())));
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
  char brokers[4096] = {};
  size_t size = sizeof(brokers);
  rd_kafka_conf_get(rd_kafka_conf(client), "bootstrap.servers", brokers, &size);
  ConnectionDiagnosis trouble(brokers);
  NoteEvents(client, trouble);
  return trouble.text().empty() ? rd_kafka_err2str(error) : trouble.text();
}

}  // namespace walpost
