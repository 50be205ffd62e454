#include "base/kafka_user.h"

#include "fmt/format.h"

namespace walpost {

KafkaUser KafkaUserOf(
    const std::string& brokers,
    const std::vector<std::pair<std::string, ReloadableText>>& properties) {
  KafkaUser user{brokers, ""};
  for (const auto& [name, value] : properties) {
    if (name == "sasl.username") user.name = value.Read().value_or("");
  }
  return user;
}

std::string GrantTo(const KafkaUser& user) {
  return fmt::format(
      "kafka-acls.sh --bootstrap-server {} --add --allow-principal 'User:{}'",
      user.brokers, user.name.empty() ? "<principal of walpost>" : user.name);
}

}  // namespace walpost
