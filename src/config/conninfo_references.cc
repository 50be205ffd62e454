#include "config/conninfo_references.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace walpost {
namespace {

enum class Place {
  kSettings,  // between two settings, or the whole text
  kUnquoted,  // a value without quotes
  kQuoted,    // a value in quotes
  kUser,      // of a URI: before the password, or all before the @
  kHost,
  kComponent,  // any other part of a URI
};

bool IsUri(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

// The end of a reference that begins at `at`, else `at`.
size_t EndOfReference(std::string_view text, size_t at) {
  if (!text.substr(at).starts_with("${")) return at;
  const size_t end = text.find('}', at);
  return end == std::string_view::npos ? at : end + 1;
}

// As conninfo_parse of libpq reads it. Earlier references are opaque.
Place PlaceInSettings(std::string_view before) {
  enum class State { kKeyword, kBeforeValue, kUnquoted, kQuoted };
  State state = State::kKeyword;
  for (size_t i = 0; i < before.size(); ++i) {
    const char c = before[i];
    const bool is_blank = absl::ascii_isspace(static_cast<unsigned char>(c));
    if (const size_t end = EndOfReference(before, i); end > i) {
      if (state == State::kBeforeValue) state = State::kUnquoted;
      i = end - 1;
    } else if (state == State::kKeyword) {
      if (c == '=') state = State::kBeforeValue;
    } else if (state == State::kBeforeValue) {
      if (c == '\'') state = State::kQuoted;
      if (c != '\'' && !is_blank) state = State::kUnquoted;
      if (c == '\\') ++i;
    } else if (c == '\\') {
      ++i;
    } else if (state == State::kQuoted ? c == '\'' : is_blank) {
      state = State::kKeyword;
    }
  }
  if (state == State::kKeyword) return Place::kSettings;
  return state == State::kQuoted ? Place::kQuoted : Place::kUnquoted;
}

// A URI, with a letter in the place of each character of its references.
std::string WithoutReferences(std::string_view text) {
  std::string plain(text);
  for (size_t i = 0; i < plain.size(); ++i) {
    const size_t end = EndOfReference(text, i);
    if (end == i) continue;
    std::fill(plain.begin() + static_cast<ptrdiff_t>(i),
              plain.begin() + static_cast<ptrdiff_t>(end), 'x');
    i = end - 1;
  }
  return plain;
}

Place PlaceInUri(std::string_view text, size_t at) {
  const std::string plain = WithoutReferences(text);
  const size_t authority = plain.find("://") + 3;
  // As libpq: an @ ends the login, also behind a question mark.
  const size_t login = plain.find('@', authority);
  const bool has_login = login < plain.find('/', authority);
  if (has_login && at < login) {
    return plain.find(':', authority) < at ? Place::kComponent : Place::kUser;
  }
  const size_t hosts = has_login ? login : authority;
  const size_t query = plain.find('?', hosts);
  if (at > query) {
    const char last = plain[at - 1];
    return last == '?' || last == '&' ? Place::kSettings : Place::kComponent;
  }
  return at > plain.find('/', hosts) ? Place::kComponent : Place::kHost;
}

std::string PercentEncoded(std::string_view value, std::string_view plain) {
  std::string encoded;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || plain.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", byte);
    }
  }
  return encoded;
}

std::string Escaped(std::string_view value, std::string_view special) {
  std::string escaped;
  for (const char c : value) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Quoted(std::string_view value, Place place,
                   std::string_view after) {
  constexpr std::string_view kUnreserved = "-._~";
  switch (place) {
    case Place::kSettings:
      return std::string(value);
    case Place::kUnquoted:
      // libpq would take the next word for an empty value.
      if (value.empty() && (after.empty() || after.front() == ' ')) return "''";
      return Escaped(value, " \t\n\v\f\r'\\");
    case Place::kQuoted:
      return Escaped(value, "'\\");
    case Place::kUser: {
      // A variable may have user and password.
      const size_t colon =
          after.starts_with('@') ? value.find(':') : std::string_view::npos;
      std::string user = PercentEncoded(value.substr(0, colon), kUnreserved);
      if (colon == std::string_view::npos) return user;
      return user + ":" + PercentEncoded(value.substr(colon + 1), kUnreserved);
    }
    case Place::kHost:
      return PercentEncoded(value, "-._~:,[]");
    case Place::kComponent:
      return PercentEncoded(value, kUnreserved);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> SubstituteInConninfo(
    std::string_view text, const Environment& environment) {
  bool begins_with_uri = IsUri(text);
  const QuoteValue quote = [&](const std::string& value, size_t at,
                               size_t end) -> absl::StatusOr<std::string> {
    if (value.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          fmt::format("{} has a NUL, which no conninfo can have",
                      text.substr(at, end - at)));
    }
    Place place = Place::kSettings;
    if (IsUri(text)) {
      place = PlaceInUri(text, at);
    } else if (begins_with_uri) {
      place = Place::kComponent;  // behind a variable with the beginning
    } else {
      place = PlaceInSettings(text.substr(0, at));
    }
    if (at == 0) begins_with_uri = IsUri(value);
    return Quoted(value, place, text.substr(end));
  };
  return Substitute(text, environment, quote);
}

}  // namespace walpost
