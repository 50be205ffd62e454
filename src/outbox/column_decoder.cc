#include "outbox/column_decoder.h"

#include <charconv>
#include <optional>

#include "absl/status/status.h"
#include "base/reason_code.h"
#include "fmt/format.h"
#include "pgoutput/type_oid.h"

namespace walpost {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [parsed_to, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed_to != end) return std::nullopt;
  return value;
}

// Takes `digits` decimal digits off the front; nullopt if there are fewer.
std::optional<int> TakeDigits(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool TakeCharacter(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::chrono::microseconds TakeFraction(std::string_view& text) {
  int64_t micros = 0;
  int64_t unit = 100'000;
  if (!TakeCharacter(text, '.')) return {};
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    micros += unit * (text.front() - '0');
    unit /= 10;
    text.remove_prefix(1);
  }
  return std::chrono::microseconds(micros);
}

// "2024-01-02 01:04:05.678+00"; timestamps without a zone count as UTC.
std::optional<WallTime> ParseIso(std::string_view text) {
  const auto year = TakeDigits(text, 4);
  if (!year || !TakeCharacter(text, '-')) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakeCharacter(text, '-')) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day || !TakeCharacter(text, ' ')) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  if (!hour || !TakeCharacter(text, ':')) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || !TakeCharacter(text, ':')) return std::nullopt;
  const auto second = TakeDigits(text, 2);
  if (!second) return std::nullopt;
  const std::chrono::microseconds fraction = TakeFraction(text);
  if (!text.empty() && text != "+00") return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(*year),
      std::chrono::month(static_cast<unsigned>(*month)),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) +
         fraction;
}

}  // namespace

absl::Status DecodeBytea(std::string_view text, std::string& bytes) {
  if (text.size() % 2 != 0 || !text.starts_with("\\x")) {
    return Undeliverable(kReasonColumnUnreadable, "bytea is not in hex form");
  }
  text.remove_prefix(2);
  bytes.resize(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = HexDigit(text[2 * i]);
    const int low = HexDigit(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return Undeliverable(kReasonColumnUnreadable, "bytea is not in hex form");
    }
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  return absl::OkStatus();
}

bool IsTimestampType(uint32_t type_oid) {
  switch (type_oid) {
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
    case pgoutput::kInt2Oid:
    case pgoutput::kInt4Oid:
    case pgoutput::kInt8Oid:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<WallTime> DecodeTimestamp(uint32_t type_oid,
                                         std::string_view text) {
  std::optional<WallTime> time;
  switch (type_oid) {
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
      time = ParseIso(text);
      break;
    case pgoutput::kInt2Oid:
    case pgoutput::kInt4Oid:
    case pgoutput::kInt8Oid: {
      constexpr int64_t kMaxMillis = INT64_MAX / 1000;
      const auto millis = ParseInteger(text);
      if (millis && *millis >= 0 && *millis <= kMaxMillis) {
        time = WallTime(std::chrono::milliseconds(*millis));
      }
      break;
    }
    default:
      return Undeliverable(
          kReasonColumnUnreadable,
          "the timestamp column is not one of timestamp, timestamptz or an "
          "integer of milliseconds");
  }
  if (!time.has_value() || time->time_since_epoch().count() < 0) {
    return Undeliverable(
        kReasonColumnUnreadable,
        fmt::format("'{}' is not a timestamp that a Kafka record can carry",
                    text));
  }
  return *time;
}

}  // namespace walpost
