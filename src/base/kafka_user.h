// KafkaUser: the user as which walpost logs in to the brokers, for printed
// commands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/reloadable_text.h"

namespace walpost {

struct KafkaUser {
  std::string brokers;
  std::string name;  // empty: not known (a certificate's)
};

// By kafka.brokers and kafka.properties.
KafkaUser KafkaUserOf(
    const std::string& brokers,
    const std::vector<std::pair<std::string, ReloadableText>>& properties);

// The command that grants the user something, without the operations.
std::string GrantTo(const KafkaUser& user);

}  // namespace walpost
