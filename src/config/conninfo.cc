#include "config/conninfo.h"

#include <libpq-fe.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "config/secrets.h"
#include "config/substitution.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

Options Parse(const std::string& conninfo, std::string& reason) {
  char* error = nullptr;
  Options options(PQconninfoParse(conninfo.c_str(), &error), PQconninfoFree);
  if (error != nullptr) {
    reason = std::string(absl::StripTrailingAsciiWhitespace(error));
    // libpq repeats the whole URI, or the word where it failed, which may be
    // half a password.
    absl::StrReplaceAll({{fmt::format(": \"{}\"", conninfo), ""}}, &reason);
    for (const std::string_view before :
         {"missing \"=\"", "percent-encoded token"}) {
      const size_t at = reason.find(before);
      if (at != std::string::npos) reason.resize(at + before.size());
    }
  }
  PQfreemem(error);
  return options;
}

std::string Quote(std::string_view value) {
  if (!value.empty() &&
      value.find_first_of(" \t\n\r\v\f'\\") == std::string_view::npos) {
    return std::string(value);
  }
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

bool IsCredential(std::string_view keyword) {
  constexpr std::string_view kCredentials[] = {
      "password", "passfile",    "sslpassword", "sslcert",
      "sslkey",   "sslrootcert", "sslcrl",      "sslcrldir"};
  return std::ranges::find(kCredentials, keyword) != std::end(kCredentials);
}

}  // namespace

absl::Status CheckConninfo(const std::string& conninfo) {
  if (conninfo.starts_with("jdbc:")) {
    return absl::InvalidArgumentError(
        "it is an address of JDBC: leave out jdbc:, as in "
        "postgresql://user@host:5432/database");
  }
  std::string reason;
  if (Parse(conninfo, reason) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("libpq does not understand it: {}", reason));
}

bool DifferInCredentialsAlone(const std::string& one,
                              const std::string& other) {
  const auto without_credentials = [](const std::string& conninfo)
      -> std::optional<std::map<std::string, std::string>> {
    std::string reason;
    const Options options = Parse(conninfo, reason);
    if (options == nullptr) return std::nullopt;
    std::map<std::string, std::string> kept;
    for (const PQconninfoOption* o = options.get(); o->keyword != nullptr;
         ++o) {
      if (o->val != nullptr && !IsCredential(o->keyword)) {
        kept[o->keyword] = o->val;
      }
    }
    return kept;
  };
  const auto first = without_credentials(one);
  return first && first == without_credentials(other);
}

std::string ConninfoValue(const ReloadableText& conninfo,
                          std::string_view keyword) {
  const auto value_of = [keyword](const std::string& text) -> std::string {
    std::string reason;
    const Options options = Parse(text, reason);
    for (const PQconninfoOption* o = options.get();
         o != nullptr && o->keyword != nullptr; ++o) {
      if (o->keyword == keyword && o->val != nullptr) return o->val;
    }
    return "";
  };
  const absl::StatusOr<std::string> now = conninfo.Read();
  if (now.ok()) return value_of(*now);
  // Something else cannot be read, such as the password.
  const std::string value = value_of(MaskReferences(conninfo.configured()));
  const bool is_plain = conninfo.configured().find(value) != std::string::npos;
  return is_plain ? value : "";
}

std::string WithConninfoValue(const std::string& conninfo,
                              std::string_view keyword,
                              std::string_view value) {
  std::string reason;
  const Options options = Parse(conninfo, reason);
  std::string all = fmt::format("{}={}", keyword, Quote(value));
  for (const PQconninfoOption* o = options.get();
       o != nullptr && o->keyword != nullptr; ++o) {
    if (o->val == nullptr || o->keyword == keyword) continue;
    all += fmt::format(" {}={}", o->keyword, Quote(o->val));
  }
  return all;
}

std::string HideConninfoSecrets(const std::string& conninfo) {
  if (conninfo.empty()) return conninfo;
  std::string reason;
  const Options options = Parse(conninfo, reason);
  if (options == nullptr) return std::string(kHidden);
  std::string shown;
  for (const PQconninfoOption* o = options.get(); o->keyword != nullptr; ++o) {
    if (o->val == nullptr) continue;
    const bool secret =
        std::string_view(o->keyword).find("password") != std::string_view::npos;
    shown += fmt::format("{}{}={}", shown.empty() ? "" : " ", o->keyword,
                         secret ? std::string(kHidden) : Quote(o->val));
  }
  return shown;
}

}  // namespace walpost
