#include "config/secrets.h"

#include <libpq-fe.h>

#include <memory>

#include "fmt/format.h"

namespace walpost {
namespace {

constexpr std::string_view kSecretParts[] = {
    "password", "secret",        "passphrase", "assertion", ".pem",
    "token",    "sasl.username", "oauthbearer.config",
};

std::string Quote(std::string_view value) {
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace

bool IsSecretProperty(std::string_view name) {
  for (const std::string_view part : kSecretParts) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::string HideConninfoSecrets(const std::string& conninfo) {
  if (conninfo.empty()) return conninfo;
  using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;
  char* error = nullptr;
  const Options options(PQconninfoParse(conninfo.c_str(), &error),
                        PQconninfoFree);
  PQfreemem(error);
  if (options == nullptr) return std::string(kHidden);
  std::string shown;
  for (const PQconninfoOption* o = options.get(); o->keyword != nullptr; ++o) {
    if (o->val == nullptr) continue;
    const bool secret =
        std::string_view(o->keyword).find("password") != std::string_view::npos;
    shown += fmt::format("{}{}={}", shown.empty() ? "" : " ", o->keyword,
                         Quote(secret ? kHidden : o->val));
  }
  return shown;
}

}  // namespace walpost
