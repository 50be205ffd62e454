#include "config/checks.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/status_macros.h"
#include "config/units.h"
#include "fmt/format.h"
#include "outbox/topic_template.h"

namespace walpost {
namespace {

constexpr size_t kLongestIdentifier = 63;  // NAMEDATALEN - 1

struct FreeConninfo {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

bool IsSlotCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsIdentifier(std::string_view text) {
  return !text.empty() && text.size() <= kLongestIdentifier;
}

// The template without what stands in braces.
std::string LiteralsOf(std::string_view topic) {
  std::string literals;
  bool in_braces = false;
  for (const char c : topic) {
    if (c == '{') in_braces = true;
    if (!in_braces) literals += c;
    if (c == '}') in_braces = false;
  }
  return literals;
}

}  // namespace

absl::Status CheckNotEmpty(std::string& text) {
  if (!text.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("it must not be empty");
}

absl::Status CheckConninfo(std::string& text) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeConninfo> options(
      PQconninfoParse(text.c_str(), &error));
  const std::unique_ptr<char, void (*)(void*)> owned_error(error, PQfreemem);
  if (options != nullptr) return absl::OkStatus();
  // Of libpq's messages only this one never quotes a value.
  std::string_view reason = error == nullptr ? "" : error;
  reason = reason.substr(0, reason.find('\n'));
  if (!reason.starts_with("invalid connection option")) {
    reason = "its text is not shown, it may hold a password";
  }
  return absl::InvalidArgumentError(fmt::format(
      "libpq does not understand it: {}; expected key=value words such as "
      "host=db dbname=shop user=walpost, or a postgresql:// URI",
      reason));
}

absl::Status CheckSlotName(std::string& text) {
  if (IsIdentifier(text) && std::ranges::all_of(text, IsSlotCharacter)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is no slot name: expected 1 to {} of a-z, 0-9 and _", text,
      kLongestIdentifier));
}

absl::Status CheckIdentifier(std::string& text) {
  if (IsIdentifier(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("'{}' is no name in PostgreSQL: expected 1 to {} bytes",
                  text, kLongestIdentifier));
}

absl::Status CheckTableName(std::string& text) {
  const std::string name =
      text.find('.') == std::string::npos ? "public." + text : text;
  const size_t dot = name.find('.');
  const std::string_view schema = std::string_view(name).substr(0, dot);
  const std::string_view table = std::string_view(name).substr(dot + 1);
  if (IsIdentifier(schema) && IsIdentifier(table) &&
      table.find('.') == std::string_view::npos &&
      name.find('"') == std::string::npos) {
    text = name;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is no table: expected schema.table, spelled as in the catalog "
      "(no quotes), such as public.outbox",
      text));
}

absl::Status CheckTopic(std::string& text) {
  WALPOST_RETURN_IF_ERROR(TopicTemplate::Parse(text).status());
  // A letter stands for the values, which may be all that there is.
  if (!ValidateTopicName("x" + LiteralsOf(text)).ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "topic template '{}': Kafka refuses such names; outside of the braces "
        "expected no more than 248 of a-z A-Z 0-9 . _ -",
        text));
  }
  return absl::OkStatus();
}

absl::Status CheckOptionalTopic(std::string& text) {
  return text.empty() ? absl::OkStatus() : CheckTopic(text);
}

absl::Status CheckListen(std::string& text) {
  if (text.empty()) return absl::OkStatus();
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos) {
    const std::string_view host = std::string_view(text).substr(0, colon);
    const size_t port =
        ParseCount(std::string_view(text).substr(colon + 1)).value_or(0);
    const bool is_ipv6 = host.starts_with('[') && host.ends_with(']');
    const bool is_host =
        !host.empty() && host.find_first_of(":[] /") == std::string_view::npos;
    if ((is_ipv6 || is_host) && port >= 1 && port <= 65535) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is no address to listen on: expected host:port, such as "
      "127.0.0.1:9187, or an empty text for none",
      text));
}

}  // namespace walpost
