#include "base/bearer_token.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

using std::chrono::seconds;

// Seconds until 2286; as milliseconds, April of 1970.
constexpr double kMaxSeconds = 1e10;
constexpr size_t kMaxPrincipalBytes = 256;

constexpr std::string_view kExpected =
    "it must print a JSON web token, a token of Amazon MSK, or JSON as in "
    R"({"access_token": "...", "expires_in": 900})";

absl::string_view ForAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", what, kExpected));
}

// Characters of a token (RFC 6750, 2.1): others do not reach the brokers.
bool IsToken(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return absl::ascii_isalnum(c) ||
           std::string_view("-._~+/").find(static_cast<char>(c)) !=
               std::string_view::npos;
  });
}

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(
      text, [](unsigned char c) { return c > ' ' && c < 127; });
}

// False: not an object.
bool ParseObject(std::string_view text, rapidjson::Document& document) {
  // Iterative: the depth of a nested array is not a depth of the stack.
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  return !document.HasParseError() && document.IsObject();
}

std::string_view Text(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::optional<double> Number(const rapidjson::Value& value) {
  double number = 0;
  if (value.IsNumber()) {
    number = value.GetDouble();
  } else if (!value.IsString() ||
             !absl::SimpleAtod(ForAbsl(Text(value)), &number)) {
    return std::nullopt;
  }
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Seconds or milliseconds since 1970; nullopt: out of range.
std::optional<WallTime> TimeOf(double number) {
  if (number > kMaxSeconds) number /= 1'000;
  if (number < 0 || number > kMaxSeconds) return std::nullopt;
  return WallTime(seconds(static_cast<int64_t>(number)));
}

// "20261128T093426Z"
std::optional<WallTime> ParseAmazonDate(std::string_view text) {
  if (text.size() < 16 || text[8] != 'T' || text[15] != 'Z') {
    return std::nullopt;
  }
  const auto number = [&](size_t from, size_t count) {
    int value = -1;
    const std::string_view digits = text.substr(from, count);
    const bool is_number = std::ranges::all_of(
        digits, [](unsigned char c) { return absl::ascii_isdigit(c); });
    const bool parses = is_number && absl::SimpleAtoi(ForAbsl(digits), &value);
    return parses ? value : -1;
  };
  const std::chrono::year_month_day day{
      std::chrono::year(number(0, 4)),
      std::chrono::month(static_cast<unsigned>(number(4, 2))),
      std::chrono::day(static_cast<unsigned>(number(6, 2)))};
  const int hour = number(9, 2);
  const int minute = number(11, 2);
  const int second = number(13, 2);
  if (!day.ok() || number(0, 4) < 0 || hour < 0 || minute < 0 || second < 0) {
    return std::nullopt;
  }
  return WallTime(std::chrono::sys_days(day)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + seconds(second);
}

// The value of a parameter of a URL, up to the next one; empty: none.
std::string_view Parameter(std::string_view url, std::string_view name) {
  for (size_t at = url.find(name); at != std::string_view::npos;
       at = url.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at > 0 && (url[at - 1] == '?' || url[at - 1] == '&');
    if (!begins || end >= url.size() || url[end] != '=') continue;
    const std::string_view value = url.substr(end + 1);
    return value.substr(0, value.find('&'));
  }
  return "";
}

std::optional<WallTime> ExpiryOfSignedUrl(std::string_view url) {
  constexpr int kMaxLifetime = 7 * 24 * 3'600;
  if (!url.starts_with("https://")) return std::nullopt;
  const auto signed_at = ParseAmazonDate(Parameter(url, "X-Amz-Date"));
  const std::string_view lifetime = Parameter(url, "X-Amz-Expires");
  int count = 0;
  if (!signed_at || !absl::SimpleAtoi(ForAbsl(lifetime), &count) || count < 0 ||
      count > kMaxLifetime) {
    return std::nullopt;
  }
  return *signed_at + seconds(count);
}

// What the token itself says.
struct Claims {
  std::optional<WallTime> expires_at;
  std::string principal;
};

Claims ClaimsOf(std::string_view token) {
  Claims claims;
  std::string decoded;
  const size_t dot = token.find('.');
  if (dot == std::string_view::npos) {
    if (absl::WebSafeBase64Unescape(ForAbsl(token), &decoded)) {
      claims.expires_at = ExpiryOfSignedUrl(decoded);
    }
    return claims;
  }
  const std::string_view part =
      token.substr(dot + 1, token.find('.', dot + 1) - dot - 1);
  rapidjson::Document payload;
  if (!absl::WebSafeBase64Unescape(ForAbsl(part), &decoded) ||
      !ParseObject(decoded, payload)) {
    return claims;
  }
  const auto expiry = payload.FindMember("exp");
  if (expiry != payload.MemberEnd() && expiry->value.IsNumber()) {
    claims.expires_at = TimeOf(expiry->value.GetDouble());
  }
  const auto subject = payload.FindMember("sub");
  if (subject != payload.MemberEnd() && subject->value.IsString() &&
      subject->value.GetStringLength() <= kMaxPrincipalBytes &&
      IsPrintable(Text(subject->value))) {
    claims.principal = Text(subject->value);
  }
  return claims;
}

struct Printed {
  BearerToken token;
  std::optional<WallTime> expires_at;
};

absl::Status ReadExpiry(const rapidjson::Value& object, WallTime now,
                        std::optional<WallTime>& expires_at) {
  const auto note = [&](std::optional<WallTime> time) {
    if (time) expires_at = std::min(expires_at.value_or(*time), *time);
    return time.has_value();
  };
  for (const char* name : {"expires_in", "expiresIn"}) {
    const auto found = object.FindMember(name);
    if (found == object.MemberEnd() || found->value.IsNull()) continue;
    const std::optional<double> lifetime = Number(found->value);
    if (!lifetime || *lifetime > kMaxSeconds || *lifetime < -kMaxSeconds) {
      return Wrong(
          fmt::format("printed an {} that is not a number of seconds", name));
    }
    note(now + seconds(static_cast<int64_t>(*lifetime)));
  }
  for (const char* name :
       {"expires_at", "expires_on", "expiration_ms", "expirationMs"}) {
    const auto found = object.FindMember(name);
    if (found == object.MemberEnd() || found->value.IsNull()) continue;
    const std::optional<double> time = Number(found->value);
    if (!time || !note(TimeOf(*time))) {
      return Wrong(fmt::format(
          "printed an {} that is not a number of seconds or milliseconds since "
          "1970",
          name));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadExtensions(const rapidjson::Value& value, BearerToken& token) {
  const absl::Status wrong = absl::InvalidArgumentError(
      "printed `extensions` that are not an object of texts, whose names are "
      "letters and not `auth`");
  if (!value.IsObject()) return wrong;
  for (const auto& member : value.GetObject()) {
    const std::string_view name = Text(member.name);
    const bool is_name = !name.empty() && name != "auth" &&
                         std::ranges::all_of(name, [](unsigned char c) {
                           return absl::ascii_isalpha(c);
                         });
    if (!is_name || !member.value.IsString() ||
        !std::ranges::all_of(Text(member.value), [](unsigned char c) {
          return c >= ' ' && c < 127;
        })) {
      return wrong;
    }
    token.extensions.emplace_back(name, Text(member.value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Printed> ParsePrintedObject(std::string_view text,
                                           WallTime now) {
  rapidjson::Document object;
  if (!ParseObject(text, object)) {
    return Wrong("printed JSON that does not parse");
  }
  Printed printed;
  for (const char* name : {"access_token", "accessToken", "token"}) {
    const auto found = object.FindMember(name);
    if (found == object.MemberEnd()) continue;
    if (!found->value.IsString())
      return Wrong("printed an access token that is not a text");
    printed.token.value = Text(found->value);
    break;
  }
  if (printed.token.value.empty()) {
    return Wrong("printed JSON without access_token");
  }
  WALPOST_RETURN_IF_ERROR(ReadExpiry(object, now, printed.expires_at));
  const auto principal = object.FindMember("principal");
  if (principal != object.MemberEnd() && principal->value.IsString() &&
      principal->value.GetStringLength() <= kMaxPrincipalBytes &&
      IsPrintable(Text(principal->value))) {
    printed.token.principal = Text(principal->value);
  }
  const auto extensions = object.FindMember("extensions");
  if (extensions != object.MemberEnd()) {
    WALPOST_RETURN_IF_ERROR(ReadExtensions(extensions->value, printed.token));
  }
  return printed;
}

// "('TOKEN', 1795859366000)", a pair of Python's. Its second member is also in
// the token.
std::string_view TokenOfPair(std::string_view text) {
  constexpr std::string_view kBegin = "('";
  if (!text.starts_with(kBegin)) return text;
  text.remove_prefix(kBegin.size());
  return text.substr(0, text.find("', "));
}

}  // namespace

absl::StatusOr<BearerToken> ParseBearerToken(std::string_view printed,
                                             WallTime now) {
  const absl::string_view stripped =
      absl::StripAsciiWhitespace(ForAbsl(printed));
  const std::string_view text(stripped.data(), stripped.size());
  Printed found;
  if (text.starts_with('{')) {
    WALPOST_ASSIGN_OR_RETURN(found, ParsePrintedObject(text, now));
  } else {
    found.token.value = TokenOfPair(text);
  }
  BearerToken& token = found.token;
  if (!IsToken(token.value))
    return Wrong("printed something that is not a token");
  Claims claims = ClaimsOf(token.value);
  if (token.principal.empty()) token.principal = std::move(claims.principal);
  const std::optional<WallTime> expires_at =
      found.expires_at && claims.expires_at
          ? std::min(*found.expires_at, *claims.expires_at)
      : found.expires_at ? found.expires_at
                         : claims.expires_at;
  if (!expires_at) {
    return Wrong("printed a token without saying when it expires");
  }
  token.expires_at = *expires_at;
  if (token.expires_at > now) return std::move(token);
  const auto ago = std::chrono::duration_cast<seconds>(now - token.expires_at);
  return absl::InvalidArgumentError(fmt::format(
      "printed a token that expired {} s ago: it must print a new one each "
      "time; compare the clock of this host",
      ago.count()));
}

}  // namespace walpost
