#include "config/secrets.h"

namespace walpost {

bool IsSecretProperty(std::string_view name) {
  constexpr std::string_view kSecretParts[] = {
      "password", "secret",        "passphrase",         "assertion",   ".pem",
      "token",    "sasl.username", "oauthbearer.config", "jaas.config",
  };
  for (const std::string_view part : kSecretParts) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace walpost
