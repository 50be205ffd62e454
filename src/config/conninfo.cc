#include "config/conninfo.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/nearest_word.h"
#include "config/secrets.h"
#include "config/substitution.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// A word that libpq took for a keyword may be a part of a password, unless the
// conninfo has none, or it is a slip of a keyword.
std::string ReasonOfUnknownWord(const std::string& reason, size_t after,
                                const std::string& conninfo) {
  const size_t end = reason.rfind('"');
  const std::string word = reason.substr(after, end - after);
  const bool has_password = conninfo.find("pass") != std::string::npos ||
                            conninfo.find('@') != std::string::npos;
  if (!has_password || !NearestWord(word, ConninfoKeywords()).empty()) {
    return reason.substr(0, end + 1);
  }
  return reason.substr(0, reason.find_last_not_of(":\" ", after - 1) + 1) +
         ", which is not shown, because it may be a part of a password: values "
         "with blanks need quotes, as in password='a b'";
}

// libpq repeats the whole URI, or the word where it failed, which may be half a
// password.
std::string ReasonWithoutSecrets(std::string reason,
                                 const std::string& conninfo) {
  absl::StripTrailingAsciiWhitespace(&reason);
  for (const std::string_view unknown :
       {"invalid connection option \"", "invalid URI query parameter: \""}) {
    const size_t at = reason.find(unknown);
    if (at == std::string::npos) continue;
    return ReasonOfUnknownWord(reason, at + unknown.size(), conninfo);
  }
  for (const std::string_view before :
       {"missing \"=\"", "percent-encoded token", "percent-encoded value",
        "URI query parameter", "in URI"}) {
    const size_t at = reason.find(before);
    if (at != std::string::npos) reason.resize(at + before.size());
  }
  return reason;
}

Options Parse(const std::string& conninfo, std::string& reason) {
  char* error = nullptr;
  Options options(PQconninfoParse(conninfo.c_str(), &error), PQconninfoFree);
  if (error != nullptr) {
    reason = ReasonWithoutSecrets(error, conninfo);
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

// A password with an @ or / that is not encoded, as in u:p@ss/w@host/db, would
// be in the name of a host or database, which are shown.
absl::Status CheckHosts(const PQconninfoOption& options) {
  for (const PQconninfoOption* o = &options; o->keyword != nullptr; ++o) {
    const std::string_view keyword = o->keyword;
    const bool is_shown = keyword == "host" || keyword == "dbname" ||
                          keyword == "port" || keyword == "hostaddr";
    // A host that begins with @ is an abstract socket.
    if (!is_shown || o->val == nullptr) continue;
    if (std::string_view(o->val).find('@', 1) == std::string_view::npos) {
      continue;
    }
    return absl::InvalidArgumentError(fmt::format(
        "its {} would have an @, so it seems that the password has characters "
        "that a URI must encode: write @ as %40, / as %2F, : as %3A, ? as %3F, "
        "# as %23 and % as %25; or ${{env:NAME}} in the place of the password, "
        "which is encoded by itself",
        keyword));
  }
  return absl::OkStatus();
}

// Its own rules say which values are valid. It looks at all of them before it
// looks for the socket, which is nowhere.
absl::Status CheckValues(const PQconninfoOption& options) {
  // It would be asked in place of that socket.
  if (getenv("PGHOSTADDR") != nullptr) return absl::OkStatus();
  constexpr char kNowhere[] = "/nonexistent";
  std::vector<const char*> keywords = {"host", "password"};
  std::vector<const char*> values = {kNowhere, "x"};
  std::string hosts = kNowhere;
  for (const PQconninfoOption* o = &options; o->keyword != nullptr; ++o) {
    const std::string_view keyword = o->keyword;
    if (o->val == nullptr || keyword == "password") continue;
    if (keyword == "service") return absl::OkStatus();  // has more of them
    if (keyword == "replication") {
      return absl::InvalidArgumentError(
          "replication is what walpost sets itself where it is needed: leave "
          "it out");
    }
    const bool is_host = keyword == "host" || keyword == "hostaddr";
    if (is_host && std::string_view(o->val).find(',') != std::string::npos) {
      hosts = kNowhere;
      for (const char c : std::string_view(o->val)) {
        if (c == ',') hosts += std::string(",") + kNowhere;
      }
    }
    if (is_host) continue;
    keywords.push_back(o->keyword);
    values.push_back(o->val);
  }
  values.front() = hosts.c_str();
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(
      PQconnectStartParams(keywords.data(), values.data(), 0), &PQfinish);
  std::string reason = PQerrorMessage(connection.get());
  absl::StripTrailingAsciiWhitespace(&reason);
  if (reason.find(kNowhere) != std::string::npos ||
      reason.find("invalid") == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("libpq does not accept it: {}", reason));
}

}  // namespace

std::vector<std::string> ConninfoKeywords() {
  const Options options(PQconndefaults(), PQconninfoFree);
  std::vector<std::string> keywords;
  for (const PQconninfoOption* o = options.get();
       o != nullptr && o->keyword != nullptr; ++o) {
    keywords.push_back(o->keyword);
  }
  return keywords;
}

absl::Status CheckConninfo(const std::string& conninfo) {
  if (conninfo.starts_with("jdbc:")) {
    return absl::InvalidArgumentError(
        "it is an address of JDBC: leave out jdbc:, as in "
        "postgresql://user@host:5432/database");
  }
  std::string reason;
  const Options options = Parse(conninfo, reason);
  if (options != nullptr) {
    const absl::Status hosts = CheckHosts(*options);
    return hosts.ok() ? CheckValues(*options) : hosts;
  }
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
