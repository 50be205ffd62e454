#include "import/client_properties.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "import/key_rules.h"

namespace walpost {
namespace {

constexpr std::pair<std::string_view, std::string_view> kSameMeaning[] = {
    {"compression.type", "compression.type"},
    {"linger.ms", "linger.ms"},
    {"batch.size", "batch.size"},
    {"max.request.size", "message.max.bytes"},
    {"security.protocol", "security.protocol"},
    {"sasl.mechanism", "sasl.mechanism"},
    {"sasl.kerberos.service.name", "sasl.kerberos.service.name"},
    {"client.dns.lookup", "client.dns.lookup"},
    {"connections.max.idle.ms", "connections.max.idle.ms"},
};

// The value of name="value" in a JAAS configuration.
std::optional<std::string> JaasOption(std::string_view text,
                                      std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const bool begins =
        at > 0 && absl::ascii_isspace(static_cast<unsigned char>(text[at - 1]));
    size_t place = text.find_first_not_of(" \t\r\n", at + name.size());
    if (!begins || place == std::string_view::npos || text[place] != '=') {
      continue;
    }
    place = text.find_first_not_of(" \t\r\n", place + 1);
    if (place == std::string_view::npos) return std::nullopt;
    const char quote = text[place];
    if (quote != '"' && quote != '\'') {
      const size_t end = text.find_first_of(" \t\r\n;", place);
      return std::string(text.substr(place, end - place));
    }
    std::string value;
    for (++place; place < text.size() && text[place] != quote; ++place) {
      if (text[place] == '\\' && place + 1 < text.size()) ++place;
      value += text[place];
    }
    return value;
  }
  return std::nullopt;
}

class ClientTranslation {
 public:
  ClientTranslation(Settings& settings, std::string prefix,
                    SecretReferences& references, ImportReport& report,
                    ClientProperties& client)
      : settings_(settings),
        prefix_(std::move(prefix)),
        references_(references),
        report_(report),
        client_(client) {}

  void Run() {
    if (const Setting* brokers = Take("bootstrap.servers");
        brokers != nullptr && client_.brokers.empty()) {
      client_.brokers = references_.Translate(*brokers);
    }
    for (const auto& [java, native] : kSameMeaning) {
      if (const Setting* one = Take(java); one != nullptr) {
        Set(native, references_.Translate(*one));
      }
    }
    TranslateSasl();
    TranslateTrust();
    TranslateKeys();
    if (const Setting* algorithm =
            Take("ssl.endpoint.identification.algorithm")) {
      const std::string value(absl::StripAsciiWhitespace(algorithm->value));
      Set("ssl.endpoint.identification.algorithm",
          value.empty() ? "none" : absl::AsciiStrToLower(value));
    }
    for (const char* name : {"ssl.protocol", "ssl.enabled.protocols"}) {
      if (const Setting* one = Take(name)) {
        report_.NotNeeded(one->key, "OpenSSL agrees on it with the brokers");
      }
    }
    ReportLeft(ProducerRules(), "Kafka's producer",
               settings_.WithPrefix(prefix_), prefix_.size(), report_);
  }

 private:
  Setting* Take(std::string_view name) {
    return settings_.Take(prefix_ + std::string(name));
  }

  void Set(std::string_view name, std::string value) {
    client_.properties.emplace(name, std::move(value));
  }

  void TranslateSasl() {
    const auto mechanism = client_.properties.find("sasl.mechanism");
    if (mechanism != client_.properties.end() &&
        mechanism->second == "AWS_MSK_IAM") {
      report_.Refuse(
          prefix_ + "sasl.mechanism",
          "librdkafka does not have AWS_MSK_IAM: set sasl.mechanism: "
          "OAUTHBEARER and kafka.token_command to a program that "
          "prints a token (docs/managed-kafka.md)");
      client_.properties.erase(mechanism);
    }
    if (const Setting* jaas = Take("sasl.jaas.config")) TranslateJaas(*jaas);
    for (const char* name :
         {"sasl.login.callback.handler.class",
          "sasl.client.callback.handler.class", "sasl.login.class"}) {
      if (const Setting* one = Take(name)) {
        report_.Refuse(
            one->key,
            "it is Java: for a token set sasl.mechanism: OAUTHBEARER "
            "and kafka.token_command (docs/managed-kafka.md)");
      }
    }
    for (Setting* one : settings_.WithPrefix(prefix_ + "sasl.oauthbearer.")) {
      if (one->is_taken) continue;
      one->is_taken = true;
      report_.Refuse(one->key,
                     "librdkafka has other names: set sasl.oauthbearer.method: "
                     "oidc with sasl.oauthbearer.client.id, .client.secret and "
                     ".token.endpoint.url in kafka.properties, or "
                     "kafka.token_command");
    }
    for (Setting* one : settings_.WithPrefix(prefix_ + "sasl.login.")) {
      if (one->is_taken) continue;
      one->is_taken = true;
      report_.NotNeeded(one->key, "librdkafka renews logins itself");
    }
    for (Setting* one : settings_.WithPrefix(prefix_ + "sasl.kerberos.")) {
      if (one->is_taken) continue;
      one->is_taken = true;
      report_.Refuse(one->key,
                     "librdkafka runs kinit: set sasl.kerberos.kinit.cmd, "
                     ".principal and .keytab in kafka.properties");
    }
  }

  void TranslateJaas(const Setting& jaas) {
    const std::string_view text = jaas.value;
    const bool is_password =
        text.find("PlainLoginModule") != std::string_view::npos ||
        text.find("ScramLoginModule") != std::string_view::npos;
    const auto user = JaasOption(text, "username");
    const auto password = JaasOption(text, "password");
    if (!is_password || !user || !password) {
      report_.Refuse(
          jaas.key,
          SecretReferences::HasReference(text) && !is_password
              ? "it is a reference: write sasl.username and sasl.password of "
                "kafka.properties yourself"
              : "only PlainLoginModule and ScramLoginModule with username and "
                "password have the same in librdkafka; for tokens see "
                "kafka.token_command, for Kerberos sasl.kerberos.* of "
                "librdkafka");
      return;
    }
    Set("sasl.username", references_.Translate({{}, jaas.key, *user, true}));
    Set("sasl.password",
        references_.TranslateSecret({{}, jaas.key, *password, true},
                                    "KAFKA_PASSWORD"));
  }

  void TranslateTrust() {
    const Setting* type = Take("ssl.truststore.type");
    const Setting* location = Take("ssl.truststore.location");
    const Setting* pem = Take("ssl.truststore.certificates");
    if (const Setting* password = Take("ssl.truststore.password")) {
      report_.NotNeeded(password->key, "certificates in PEM have no password");
    }
    if (pem != nullptr) Set("ssl.ca.pem", references_.Translate(*pem));
    if (location == nullptr) return;
    const std::string kind =
        type == nullptr ? "JKS" : absl::AsciiStrToUpper(type->value);
    if (kind == "PEM") {
      Set("ssl.ca.location", references_.Translate(*location));
    } else {
      report_.Refuse(
          location->key,
          fmt::format("librdkafka reads PEM, and this is {}: make a file of it "
                      "with {}, and set ssl.ca.location in kafka.properties",
                      kind,
                      kind == "PKCS12"
                          ? "openssl pkcs12 -in FILE -cacerts -nokeys -out "
                            "ca.pem"
                          : "keytool -exportcert -rfc -keystore FILE -alias "
                            "ALIAS -file ca.pem"));
    }
  }

  void TranslateKeys() {
    const Setting* type = Take("ssl.keystore.type");
    const Setting* location = Take("ssl.keystore.location");
    const Setting* password = Take("ssl.keystore.password");
    const Setting* key_password = Take("ssl.key.password");
    if (const Setting* chain = Take("ssl.keystore.certificate.chain")) {
      Set("ssl.certificate.pem", references_.Translate(*chain));
    }
    if (const Setting* key = Take("ssl.keystore.key")) {
      Set("ssl.key.pem", references_.TranslateSecret(*key, "KAFKA_KEY_PEM"));
    }
    const std::string kind =
        type == nullptr ? "JKS" : absl::AsciiStrToUpper(type->value);
    if (key_password != nullptr && (location == nullptr || kind == "PEM")) {
      Set("ssl.key.password",
          references_.TranslateSecret(*key_password, "KAFKA_KEY_PASSWORD"));
    }
    if (location == nullptr) return;
    const std::string path = references_.Translate(*location);
    if (kind == "PEM") {
      Set("ssl.certificate.location", path);
      Set("ssl.key.location", path);
    } else if (kind == "PKCS12") {
      Set("ssl.keystore.location", path);
      if (password != nullptr) {
        Set("ssl.keystore.password",
            references_.TranslateSecret(*password, "KAFKA_KEYSTORE_PASSWORD"));
      }
    } else {
      report_.Refuse(location->key,
                     fmt::format("librdkafka does not read {}: convert it with "
                                 "keytool -importkeystore -srckeystore FILE "
                                 "-destkeystore client.p12 -deststoretype "
                                 "PKCS12, and set ssl.keystore.location and "
                                 "ssl.keystore.password in kafka.properties",
                                 kind));
    }
  }

  Settings& settings_;
  const std::string prefix_;
  SecretReferences& references_;
  ImportReport& report_;
  ClientProperties& client_;
};

}  // namespace

void AddClientProperties(Settings& settings, const std::string& prefix,
                         SecretReferences& references, ImportReport& report,
                         ClientProperties& client) {
  ClientTranslation(settings, prefix, references, report, client).Run();
}

}  // namespace walpost
