#include "cli/shared/time_option.h"

#include "absl/time/time.h"
#include "config/units.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr const char* kFormats[] = {
    "%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d %H:%M:%E*S%Ez",
    "%Y-%m-%d%ET%H:%M:%E*S",    "%Y-%m-%d %H:%M:%E*S",
    "%Y-%m-%d %H:%M",           "%Y-%m-%d",
};

}  // namespace

absl::StatusOr<std::optional<WallTime>> ParseTimeOption(
    const std::string& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto ago = ParseDuration(text);
  if (ago.ok()) return WallNow() - *ago;
  for (const char* format : kFormats) {
    absl::Time time;
    if (absl::ParseTime(format, text, &time, nullptr)) {
      return WallTime(std::chrono::microseconds(absl::ToUnixMicros(time)));
    }
  }
  return absl::InvalidArgumentError(fmt::format(
      "{} {}: a time is expected, as in 1h (an hour ago) or '2026-11-23 "
      "10:00:00' (UTC)",
      option, text));
}

std::string FormatTime(WallTime time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ",
                          absl::FromUnixMicros(time.time_since_epoch().count()),
                          absl::UTCTimeZone());
}

absl::StatusOr<Lsn> ParseLsnOption(const char* option,
                                   const std::string& text) {
  if (text.empty()) return Lsn();
  absl::StatusOr<Lsn> lsn = Lsn::Parse(text);
  if (lsn.ok() && lsn->is_valid()) return lsn;
  return absl::InvalidArgumentError(fmt::format(
      "{}: '{}' is not an LSN; it looks like 16/B374D848", option, text));
}

}  // namespace walpost
