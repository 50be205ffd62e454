#include "config/secrets.h"

#include <libpq-fe.h>

#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace walpost {
namespace {

constexpr std::string_view kSecretWords[] = {
    "password", "secret", "passphrase", "assertion", "token", ".pem"};
constexpr std::string_view kSecretProperties[] = {"sasl.username",
                                                  "sasl.oauthbearer.config"};

struct FreeConninfo {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

bool HoldsSecretWord(std::string_view name) {
  for (const std::string_view word : kSecretWords) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

bool IsSecretOption(const PQconninfoOption& option) {
  const std::string_view keyword = option.keyword;
  const std::string_view value = option.val;
  // libpq marks what a connection dialog must not show. `passfile` is a path.
  if (option.dispchar != nullptr && option.dispchar[0] == '*') return true;
  if (HoldsSecretWord(keyword)) return true;
  // A whole conninfo in the place of the database's name.
  return keyword == "dbname" && (value.find("://") != std::string_view::npos ||
                                 value.find('=') != std::string_view::npos);
}

// As a conninfo quotes it.
std::string Quote(std::string_view value) {
  if (!value.empty() &&
      value.find_first_of(" \t\r\n\v\f'\\") == std::string_view::npos) {
    return std::string(value);
  }
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace

std::string HideConninfoSecrets(const std::string& conninfo) {
  const std::unique_ptr<PQconninfoOption, FreeConninfo> options(
      PQconninfoParse(conninfo.c_str(), nullptr));
  if (options == nullptr) return std::string(kHidden);
  bool any_hidden = false;
  std::vector<std::string> words;
  for (const PQconninfoOption* option = options.get();
       option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const bool hide = option->val[0] != '\0' && IsSecretOption(*option);
    any_hidden |= hide;
    words.push_back(fmt::format(
        "{}={}", option->keyword,
        hide ? std::string(kHidden) : Quote(option->val)));
  }
  return any_hidden ? fmt::format("{}", fmt::join(words, " ")) : conninfo;
}

bool IsSecretProperty(std::string_view name) {
  const std::string lower = absl::AsciiStrToLower(
      absl::string_view(name.data(), name.size()));
  for (const std::string_view property : kSecretProperties) {
    if (lower == property) return true;
  }
  return HoldsSecretWord(lower);
}

}  // namespace walpost
