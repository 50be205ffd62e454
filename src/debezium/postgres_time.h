// Dates and times as PostgreSQL prints them (DateStyle ISO, IntervalStyle
// postgres), read to numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace walpost::debezium {

// A point in time in UTC, without the limits of 64 bits of microseconds.
struct Moment {
  int64_t seconds = 0;  // since 1970-01-01 00:00
  int32_t micros = 0;   // 0 to 999,999, also before 1970

  friend bool operator==(const Moment&, const Moment&) = default;
};

// What the JDBC driver takes for infinity, in milliseconds since 1970.
inline constexpr int64_t kInfinityMillis = 9'223'372'036'825'200'000;
inline constexpr int64_t kMinusInfinityMillis = -9'223'372'036'832'400'000;

enum class Infinity { kNone, kPositive, kNegative };
Infinity InfinityOf(std::string_view text);

// Days since 1970-01-01 of "2020-01-02" or "0044-03-15 BC"; nullopt: neither.
std::optional<int64_t> ParseDate(std::string_view text);

// Microseconds of the day of "03:04:05.5", up to "24:00:00".
std::optional<int64_t> ParseTime(std::string_view text);

// "03:04:05.5+02", "+05:30", "-00:00:30".
struct ZonedTimeOfDay {
  int64_t micros = 0;
  int32_t offset_seconds = 0;  // east of UTC
};
std::optional<ZonedTimeOfDay> ParseZonedTime(std::string_view text);

// "2020-01-02 03:04:05.678901", with " BC" at its end, or with a zone before
// that. Infinity is a moment, too.
std::optional<Moment> ParseTimestamp(std::string_view text);
std::optional<Moment> ParseZonedTimestamp(std::string_view text);

// As the JDBC driver's PGInterval has it: each part keeps its sign.
struct Interval {
  int64_t years = 0;
  int64_t months = 0;
  int64_t days = 0;
  int64_t hours = 0;
  int64_t minutes = 0;
  int64_t micros = 0;  // of the seconds
};
// "1 year 2 mons -3 days +04:05:06.789".
std::optional<Interval> ParseInterval(std::string_view text);

// Those since 1970, as Java makes them if 64 bits cannot hold them: the seconds
// become the greatest number, and the sum with the rest begins again.
int64_t MicrosOf(const Moment& moment);
// nullopt: 64 bits cannot hold them.
std::optional<int64_t> NanosOf(const Moment& moment);
int64_t MillisOf(const Moment& moment);

}  // namespace walpost::debezium
