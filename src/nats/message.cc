#include "nats/message.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "absl/strings/match.h"
#include "base/utf8.h"
#include "debezium/base64.h"
#include "fmt/format.h"
#include "outbox/position.h"

namespace walpost {
namespace {

constexpr std::string_view kFirstLine = "NATS/1.0\r\n";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kSeparator = ": ";
constexpr std::string_view kUnprintable("\r\n\0", 3);

bool IsReserved(std::string_view name) {
  constexpr std::array<std::string_view, 3> kOwn = {
      kNatsKeyHeader, kNatsTombstoneHeader, kNatsTimestampHeader};
  const auto is_name = [name](std::string_view own) {
    return absl::EqualsIgnoreCase({own.data(), own.size()},
                                  {name.data(), name.size()});
  };
  return absl::StartsWithIgnoreCase({name.data(), name.size()}, "nats-") ||
         std::ranges::any_of(kOwn, is_name);
}

bool MayBeInName(char c) { return c > ' ' && c < 0x7F && c != ':' && c != '%'; }

// An empty one fits, but libnats (3.4) reads the next line in its place.
bool FitsInLine(std::string_view value) {
  if (value.empty()) return false;
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  return !is_space(value.front()) && !is_space(value.back()) &&
         !value.starts_with("=?") &&
         value.find_first_of(kUnprintable) == std::string_view::npos &&
         IsUtf8(value);
}

}  // namespace

std::string HeaderName(std::string_view name) {
  std::string text;
  const bool is_reserved = IsReserved(name);
  for (size_t i = 0; i < name.size(); ++i) {
    if (MayBeInName(name[i]) && !(i == 0 && is_reserved)) {
      text += name[i];
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(name[i]));
    }
  }
  return text.empty() ? "%" : text;
}

std::string HeaderValue(std::string_view value) {
  if (FitsInLine(value)) return std::string(value);
  std::string text = IsUtf8(value) ? "=?UTF-8?B?" : "=?binary?B?";
  debezium::AppendBase64(value, debezium::Base64Alphabet::kStandard, text);
  return text + "?=";
}

size_t NatsMessage::HeaderBytes() const {
  size_t bytes = kFirstLine.size() + kLineEnd.size();
  for (const auto& [name, value] : headers) {
    bytes += name.size() + kSeparator.size() + value.size() + kLineEnd.size();
  }
  return bytes;
}

NatsMessage MessageOf(const Record& record, std::string_view stream,
                      std::string_view relay) {
  NatsMessage message;
  message.subject = record.topic;
  if (record.value) message.payload = *record.value;
  auto& headers = message.headers;
  headers.reserve(record.headers.size() + 5);
  if (record.position) {
    const PositionText position(record.position->timeline,
                                record.position->position);
    const std::string id = record.id ? HeaderValue(*record.id) : "";
    headers.emplace_back(
        "Nats-Msg-Id",
        fmt::format("{}@{}/{}/{}", id, position.view(), relay, record.topic));
  }
  headers.emplace_back("Nats-Expected-Stream", stream);
  if (record.key) {
    headers.emplace_back(kNatsKeyHeader, HeaderValue(*record.key));
  }
  if (!record.value) headers.emplace_back(kNatsTombstoneHeader, "true");
  const auto millis =
      std::chrono::floor<std::chrono::milliseconds>(record.timestamp);
  headers.emplace_back(kNatsTimestampHeader,
                       fmt::format("{}", millis.time_since_epoch().count()));
  for (const RecordHeader& header : record.headers) {
    headers.emplace_back(HeaderName(header.name),
                         HeaderValue(header.value.value_or("")));
  }
  return message;
}

}  // namespace walpost
