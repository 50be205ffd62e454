#include "kafka/producer/producer_properties.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/nearest_word.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// librdkafka only prints them as the table of its CONFIGURATION.md:
//
//   Property  | C/P | Range           | Default | Importance | Description
//   linger.ms |  P  | 0 .. 900000     |       5 | high       | ...
// The properties of the linked librdkafka: name -> range, such as "0 .. 900000"
// or "none, gzip, snappy, lz4, zstd"; empty: any text.
std::map<std::string, std::string> KafkaProperties() {
  char* text = nullptr;
  size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) return {};
  rd_kafka_conf_properties_show(stream);
  fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
  std::map<std::string, std::string> properties;
  std::istringstream lines(std::string(text, size));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 6) continue;
    const std::string name(absl::StripAsciiWhitespace(cells[0]));
    properties[name] = std::string(absl::StripAsciiWhitespace(cells[2]));
  }
  return properties;
}

struct Property {
  const char* name;
  const char* value;
};

// Defaults that the user may override.
constexpr Property kDefaults[] = {
    // A partition gathers the next batch while a request is in flight, so a
    // busy stream has full batches and a quiet one no delay.
    {"linger.ms", "0"},
    // Fits a batch of its own under the brokers' default limit of 1048588
    // bytes; bigger records are rejected before they are queued.
    {"message.max.bytes", "1048500"},
    {"socket.nagle.disable", "true"},
    {"socket.keepalive.enable", "true"},
    {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "1000"},
    {"socket.timeout.ms", "30000"},
    // Both are about each partition, so thousands cost CPU time when idle.
    {"topic.metadata.refresh.interval.ms", "10000"},
    {"statistics.interval.ms", "12000"},
    // A deleted topic is trusted if it was younger than this when deleted.
    {"topic.metadata.propagation.max.ms", "10000"},
};

// The guarantees of delivery depend on these.
constexpr Property kFixed[] = {
    {"enable.idempotence", "true"},
    {"enable.gapless.guarantee", "true"},
    {"message.timeout.ms", "0"},
    {"acks", "all"},
    // By key, like Java's producer and Debezium.
    {"partitioner", "murmur2_random"},
    {"log.queue", "true"},
};

// Properties with a configuration key of their own.
constexpr Property kOwnKeys[] = {
    {"bootstrap.servers", "kafka.brokers"},
    {"metadata.broker.list", "kafka.brokers"},
    {"queue.buffering.max.messages", "delivery.max_in_flight_records"},
    {"queue.buffering.max.kbytes", "delivery.max_in_flight_bytes"},
    {"transaction.timeout.ms", "delivery.transaction_timeout"},
};

// Other properties that would break the guarantees.
constexpr std::string_view kRefused[] = {
    "client.id",
    "request.required.acks",
    "delivery.timeout.ms",
    "retries",
    "message.send.max.retries",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "transactional.id",
    "queuing.strategy",
    "delivery.report.only.error",
    "dr_cb",
    "dr_msg_cb",
    "opaque",
    "enabled_events",
};

bool IsRefused(std::string_view name) {
  for (const Property& property : kFixed) {
    if (name == property.name) return true;
  }
  for (const std::string_view refused : kRefused) {
    if (name == refused) return true;
  }
  return false;
}

// Configuration key of a property; nullptr: none.
const char* OwnKeyOf(std::string_view name) {
  for (const Property& property : kOwnKeys) {
    if (name == property.name) return property.value;
  }
  return nullptr;
}

absl::Status UnknownProperty(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, range] : KafkaProperties()) names.push_back(known);
  const std::string nearest = NearestWord(name, names);
  return absl::FailedPreconditionError(fmt::format(
      "kafka.properties: librdkafka {} has no property '{}'; {}",
      rd_kafka_version_str(), name,
      nearest.empty()
          ? "its CONFIGURATION.md lists those that it has, and some "
            "that Java has it does not"
          : fmt::format("did you mean {}?", nearest)));
}

// `reason` quotes the value, which may be a secret. Removes it, and adds the
// possible values, or the property to set instead of one of Java's.
absl::Status WrongValue(const std::string& name, const std::string& value,
                        std::string reason) {
  constexpr size_t kMaxHarmless = 3;
  absl::StrReplaceAll({{fmt::format(" \"{}\"", value), ""}}, &reason);
  if (value.size() > kMaxHarmless && reason.find(value) != std::string::npos) {
    reason = "its value is out of range";
  }
  if (name == "sasl.jaas.config") {
    reason += "; set sasl.mechanism, sasl.username and sasl.password";
  }
  const std::map<std::string, std::string> known = KafkaProperties();
  const auto property = known.find(name);
  if (property != known.end() && !property->second.empty()) {
    reason += fmt::format("; possible values: {}", property->second);
  }
  return absl::FailedPreconditionError(
      fmt::format("kafka.properties: '{}': {}", name, reason));
}

// librdkafka names neither the file nor the error.
absl::Status CheckFile(const std::string& name, const std::string& value) {
  if (!name.starts_with("ssl.") || !name.ends_with(".location") ||
      value == "probe" || access(value.c_str(), R_OK) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      fmt::format("kafka.properties: {}: {} cannot be read: {}", name, value,
                  std::strerror(errno)));
}

}  // namespace

absl::Status SetKafkaProperty(rd_kafka_conf_t* conf, const std::string& name,
                              const std::string& value) {
  char reason[512];
  const rd_kafka_conf_res_t result = rd_kafka_conf_set(
      conf, name.c_str(), value.c_str(), reason, sizeof(reason));
  if (result == RD_KAFKA_CONF_OK) return absl::OkStatus();
  if (result == RD_KAFKA_CONF_UNKNOWN) return UnknownProperty(name);
  return WrongValue(name, value, reason);
}

absl::StatusOr<ProducerOptions> ReadProperties(ProducerOptions options) {
  for (auto& [name, value] : options.properties) {
    WALPOST_ASSIGN_OR_RETURN(std::string now, value.Read());
    value = std::move(now);
  }
  return options;
}

// After a record that is not written, its transaction is aborted, and nothing
// of it counts: the client itself need not fail.
static absl::Status SetTransactions(rd_kafka_conf_t* conf,
                                    const ProducerOptions& options) {
  const auto timeout = options.transaction_timeout;
  WALPOST_RETURN_IF_ERROR(
      SetKafkaProperty(conf, "transactional.id", options.transactional_id));
  WALPOST_RETURN_IF_ERROR(SetKafkaProperty(conf, "transaction.timeout.ms",
                                           std::to_string(timeout.count())));
  WALPOST_RETURN_IF_ERROR(
      SetKafkaProperty(conf, "enable.gapless.guarantee", "false"));
  // librdkafka wants one request to fit into a transaction.
  char text[16] = "0";
  size_t size = sizeof(text);
  rd_kafka_conf_get(conf, "socket.timeout.ms", text, &size);
  if (std::atoll(text) <= timeout.count()) return absl::OkStatus();
  return SetKafkaProperty(conf, "socket.timeout.ms",
                          std::to_string(timeout.count()));
}

// Empty: it is not set.
static absl::StatusOr<std::string> ReadProperty(const ProducerOptions& options,
                                                std::string_view wanted) {
  absl::StatusOr<std::string> last = "";
  for (const auto& [name, value] : options.properties) {
    if (name == wanted) last = value.Read();
  }
  return last;
}

// kafka.token_command is the login.
static absl::Status CheckTokenCommand(const ProducerOptions& options,
                                      const std::string& protocol,
                                      const std::string& mechanism) {
  if (!absl::StartsWithIgnoreCase(protocol, "sasl_")) {
    return absl::InvalidArgumentError(
        "kafka.token_command: tokens need SASL: set security.protocol to "
        "SASL_SSL in kafka.properties");
  }
  if (!mechanism.empty() && mechanism != "OAUTHBEARER") {
    return absl::InvalidArgumentError(fmt::format(
        "kafka.properties: sasl.mechanism is {}, and kafka.token_command gives "
        "tokens for OAUTHBEARER: remove one of them",
        mechanism));
  }
  for (const auto& [name, value] : options.properties) {
    if (name == "sasl.username" || name == "sasl.password" ||
        name.starts_with("sasl.oauthbearer.") ||
        name == "enable.sasl.oauthbearer.unsecure.jwt") {
      return absl::InvalidArgumentError(
          fmt::format("kafka.properties: '{}' is of another login than "
                      "kafka.token_command: remove one of them",
                      name));
    }
  }
  return absl::OkStatus();
}

// The default of librdkafka is Kerberos, whose errors lead astray; and without
// a source of tokens it waits for the program to bring one.
static absl::Status RequireMechanism(const ProducerOptions& options) {
  WALPOST_ASSIGN_OR_RETURN(const std::string protocol,
                           ReadProperty(options, "security.protocol"));
  WALPOST_ASSIGN_OR_RETURN(std::string mechanism,
                           ReadProperty(options, "sasl.mechanism"));
  if (mechanism.empty()) {
    WALPOST_ASSIGN_OR_RETURN(mechanism,
                             ReadProperty(options, "sasl.mechanisms"));
  }
  if (!options.token_command.empty()) {
    return CheckTokenCommand(options, protocol, mechanism);
  }
  if (!absl::StartsWithIgnoreCase(protocol, "sasl_")) return absl::OkStatus();
  if (mechanism.empty()) {
    return absl::FailedPreconditionError(
        "kafka.properties: security.protocol asks for SASL, and "
        "sasl.mechanism is missing: set it to PLAIN, SCRAM-SHA-256, "
        "SCRAM-SHA-512, OAUTHBEARER or GSSAPI (Kerberos)");
  }
  if (mechanism != "OAUTHBEARER") return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(const std::string method,
                           ReadProperty(options, "sasl.oauthbearer.method"));
  WALPOST_ASSIGN_OR_RETURN(
      const std::string unsecure,
      ReadProperty(options, "enable.sasl.oauthbearer.unsecure.jwt"));
  const bool has_own_tokens = !unsecure.empty() && unsecure != "false";
  if (method == "oidc" || has_own_tokens) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "kafka.properties: sasl.mechanism is OAUTHBEARER, and nothing gives a "
      "token: set kafka.token_command, or sasl.oauthbearer.method to oidc, and "
      "sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and "
      "sasl.oauthbearer.token.endpoint.url; or use another sasl.mechanism");
}

absl::StatusOr<KafkaConf> MakeProducerConf(const ProducerOptions& options) {
  WALPOST_RETURN_IF_ERROR(RequireMechanism(options));
  KafkaConf conf(rd_kafka_conf_new());
  for (const Property& property : kDefaults) {
    WALPOST_RETURN_IF_ERROR(
        SetKafkaProperty(conf.get(), property.name, property.value));
  }
  for (const auto& [name, value] : options.properties) {
    if (IsRefused(name)) {
      return absl::InvalidArgumentError(fmt::format(
          "kafka.properties: '{}' is walpost's own to set (idempotent, "
          "acks=all, gapless, no timeout: docs/delivery.md); remove it",
          name));
    }
    if (const char* key = OwnKeyOf(name)) {
      return absl::InvalidArgumentError(fmt::format(
          "kafka.properties: '{}' has a key of its own: remove it, and set {}",
          name, key));
    }
    WALPOST_ASSIGN_OR_RETURN(const std::string now, value.Read());
    WALPOST_RETURN_IF_ERROR(SetKafkaProperty(conf.get(), name, now));
    WALPOST_RETURN_IF_ERROR(CheckFile(name, now));
  }
  for (const Property& property : kFixed) {
    WALPOST_RETURN_IF_ERROR(
        SetKafkaProperty(conf.get(), property.name, property.value));
  }
  WALPOST_RETURN_IF_ERROR(
      SetKafkaProperty(conf.get(), "bootstrap.servers", options.brokers));
  WALPOST_RETURN_IF_ERROR(
      SetKafkaProperty(conf.get(), "client.id", options.client_id));
  // Our window is the limit; librdkafka's own must not be reached before it.
  WALPOST_RETURN_IF_ERROR(
      SetKafkaProperty(conf.get(), "queue.buffering.max.messages",
                       std::to_string(2 * options.max_records)));
  WALPOST_RETURN_IF_ERROR(
      SetKafkaProperty(conf.get(), "queue.buffering.max.kbytes", "2147483647"));
  // Nothing is behind a record that goes alone.
  if (options.one_at_a_time) {
    WALPOST_RETURN_IF_ERROR(
        SetKafkaProperty(conf.get(), "enable.gapless.guarantee", "false"));
  }
  if (!options.transactional_id.empty()) {
    WALPOST_RETURN_IF_ERROR(SetTransactions(conf.get(), options));
  }
  rd_kafka_conf_set_events(conf.get(),
                           RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR |
                               RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_LOG);
  return conf;
}

}  // namespace walpost
