#include "config/units.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace walpost {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Largest first.
constexpr Unit kDurations[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
constexpr Unit kSizes[] = {{"GiB", uint64_t{1} << 30},
                           {"MiB", uint64_t{1} << 20},
                           {"KiB", uint64_t{1} << 10},
                           {"", 1}};
// Far from overflow, in milliseconds and in bytes.
constexpr uint64_t kMax = uint64_t{1} << 50;

std::optional<uint64_t> Parse(std::string_view text,
                              std::span<const Unit> units) {
  uint64_t count = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  for (const Unit& known : units) {
    if (unit != known.name) continue;
    if (count > kMax / known.factor) return std::nullopt;
    return count * known.factor;
  }
  return std::nullopt;
}

std::string Format(uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.name);
    }
  }
  return fmt::format("{}{}", value, units.back().name);
}

}  // namespace

absl::StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const auto millis = Parse(text, kDurations);
  if (millis) return std::chrono::milliseconds(*millis);
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a duration; write it like 200ms, 10s, 5m, 1h or 7d", text));
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  return Format(static_cast<uint64_t>(duration.count()), kDurations);
}

absl::StatusOr<size_t> ParseSize(std::string_view text) {
  const auto bytes = Parse(text, kSizes);
  if (bytes) return *bytes;
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a size; write it like 16MiB, 512KiB or 1000000", text));
}

std::string FormatSize(size_t bytes) { return Format(bytes, kSizes); }

}  // namespace walpost
