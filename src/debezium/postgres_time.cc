#include "debezium/postgres_time.h"

#include <charconv>
#include <limits>

namespace walpost::debezium {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;
constexpr int64_t kMicrosPerSecond = 1'000'000;

// Takes digits from the begin of `text`; nullopt: fewer than `min_count`, or
// more than a number can hold.
std::optional<int64_t> TakeDigits(std::string_view& text, size_t min_count) {
  size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') {
    ++count;
  }
  if (count < min_count || count > 18) return std::nullopt;
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + count, number);
  text.remove_prefix(count);
  return number;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Days since 1970-01-01 in the proleptic Gregorian calendar.
int64_t DaysOf(int64_t year, int64_t month, int64_t day) {
  if (month <= 2) --year;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year =
      (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

// "2020-01-02" without its era.
std::optional<int64_t> TakeDate(std::string_view& text, bool is_bc) {
  const auto year = TakeDigits(text, 4);
  if (!year || !TakePrefix(text, "-")) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakePrefix(text, "-")) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) {
    return std::nullopt;
  }
  return DaysOf(is_bc ? 1 - *year : *year, *month, *day);
}

// Microseconds of ".678901", if it is there.
std::optional<int64_t> TakeFraction(std::string_view& text) {
  if (!TakePrefix(text, ".")) return 0;
  const size_t before = text.size();
  auto fraction = TakeDigits(text, 1);
  const size_t digits = before - text.size();
  if (!fraction || digits > 6) return std::nullopt;
  for (size_t i = digits; i < 6; ++i) *fraction *= 10;
  return fraction;
}

std::optional<int64_t> TakeTime(std::string_view& text) {
  const auto hours = TakeDigits(text, 2);
  if (!hours || !TakePrefix(text, ":")) return std::nullopt;
  const auto minutes = TakeDigits(text, 2);
  if (!minutes || !TakePrefix(text, ":")) return std::nullopt;
  const auto seconds = TakeDigits(text, 2);
  if (!seconds || *hours > 24 || *minutes > 59 || *seconds > 60) {
    return std::nullopt;
  }
  const auto fraction = TakeFraction(text);
  if (!fraction) return std::nullopt;
  return ((*hours * 60 + *minutes) * 60 + *seconds) * kMicrosPerSecond +
         *fraction;
}

// Seconds east of UTC of "+02", "+05:30" or "-00:00:30".
std::optional<int32_t> TakeOffset(std::string_view& text) {
  const bool is_west = text.starts_with('-');
  if (!is_west && !text.starts_with('+')) return std::nullopt;
  text.remove_prefix(1);
  int64_t seconds = 0;
  int64_t unit = 3'600;
  do {
    const auto part = TakeDigits(text, 2);
    if (!part || unit == 0) return std::nullopt;
    seconds += *part * unit;
    unit /= 60;
  } while (TakePrefix(text, ":"));
  return static_cast<int32_t>(is_west ? -seconds : seconds);
}

Moment MomentOf(int64_t days, int64_t micros_of_day, int64_t offset_seconds) {
  Moment moment;
  moment.seconds =
      days * kSecondsPerDay + micros_of_day / kMicrosPerSecond - offset_seconds;
  moment.micros = static_cast<int32_t>(micros_of_day % kMicrosPerSecond);
  return moment;
}

Moment MomentOfMillis(int64_t millis) {
  Moment moment;
  moment.seconds = millis / 1'000;
  moment.micros = static_cast<int32_t>(millis % 1'000 * 1'000);
  if (moment.micros < 0) {
    --moment.seconds;
    moment.micros += kMicrosPerSecond;
  }
  return moment;
}

enum class Zone { kNone, kOffset };
std::optional<Moment> ParseMoment(std::string_view text, Zone zone) {
  const Infinity infinity = InfinityOf(text);
  if (infinity == Infinity::kPositive) return MomentOfMillis(kInfinityMillis);
  if (infinity == Infinity::kNegative) {
    return MomentOfMillis(kMinusInfinityMillis);
  }
  const bool is_bc = TakeSuffix(text, " BC");
  const auto days = TakeDate(text, is_bc);
  if (!days || !TakePrefix(text, " ")) return std::nullopt;
  const auto micros = TakeTime(text);
  if (!micros) return std::nullopt;
  int32_t offset = 0;
  if (zone == Zone::kOffset) {
    const auto taken = TakeOffset(text);
    if (!taken) return std::nullopt;
    offset = *taken;
  }
  if (!text.empty()) return std::nullopt;
  return MomentOf(*days, *micros, offset);
}

// "-04:05:06.789": the sign is that of all parts.
bool TakeClock(std::string_view token, Interval& interval) {
  const bool is_negative = token.starts_with('-');
  if (is_negative || token.starts_with('+')) token.remove_prefix(1);
  const int64_t sign = is_negative ? -1 : 1;
  const auto hours = TakeDigits(token, 1);
  if (!hours || !TakePrefix(token, ":")) return false;
  const auto minutes = TakeDigits(token, 2);
  if (!minutes) return false;
  int64_t micros = 0;
  if (TakePrefix(token, ":")) {
    const auto seconds = TakeDigits(token, 1);
    const auto fraction = TakeFraction(token);
    if (!seconds || !fraction) return false;
    micros = *seconds * kMicrosPerSecond + *fraction;
  }
  interval.hours = sign * *hours;
  interval.minutes = sign * *minutes;
  interval.micros = sign * micros;
  return token.empty();
}

std::string_view TakeToken(std::string_view& text) {
  const size_t end = text.find(' ');
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return token;
}

}  // namespace

Infinity InfinityOf(std::string_view text) {
  if (text == "infinity") return Infinity::kPositive;
  if (text == "-infinity") return Infinity::kNegative;
  return Infinity::kNone;
}

std::optional<int64_t> ParseDate(std::string_view text) {
  const bool is_bc = TakeSuffix(text, " BC");
  const auto days = TakeDate(text, is_bc);
  return text.empty() ? days : std::nullopt;
}

std::optional<int64_t> ParseTime(std::string_view text) {
  const auto micros = TakeTime(text);
  return text.empty() ? micros : std::nullopt;
}

std::optional<ZonedTimeOfDay> ParseZonedTime(std::string_view text) {
  const auto micros = TakeTime(text);
  if (!micros) return std::nullopt;
  const auto offset = TakeOffset(text);
  if (!offset || !text.empty()) return std::nullopt;
  return ZonedTimeOfDay{*micros, *offset};
}

std::optional<Moment> ParseTimestamp(std::string_view text) {
  return ParseMoment(text, Zone::kNone);
}

std::optional<Moment> ParseZonedTimestamp(std::string_view text) {
  return ParseMoment(text, Zone::kOffset);
}

std::optional<Interval> ParseInterval(std::string_view text) {
  Interval interval;
  while (!text.empty()) {
    std::string_view token = TakeToken(text);
    if (token.find(':') != token.npos) {
      if (!TakeClock(token, interval)) return std::nullopt;
      continue;
    }
    const bool is_negative = token.starts_with('-');
    if (is_negative || token.starts_with('+')) token.remove_prefix(1);
    auto number = TakeDigits(token, 1);
    if (!number || !token.empty()) return std::nullopt;
    if (is_negative) number = -*number;
    const std::string_view unit = TakeToken(text);
    if (unit.starts_with("year")) {
      interval.years = *number;
    } else if (unit.starts_with("mon")) {
      interval.months = *number;
    } else if (unit.starts_with("day")) {
      interval.days = *number;
    } else {
      return std::nullopt;
    }
  }
  return interval;
}

int64_t MicrosOf(const Moment& moment) {
  int64_t micros = 0;
  if (__builtin_mul_overflow(moment.seconds, kMicrosPerSecond, &micros)) {
    micros = moment.seconds < 0 ? std::numeric_limits<int64_t>::min()
                                : std::numeric_limits<int64_t>::max();
  }
  // The sum wraps around.
  return static_cast<int64_t>(static_cast<uint64_t>(micros) +
                              static_cast<uint64_t>(moment.micros));
}

std::optional<int64_t> NanosOf(const Moment& moment) {
  int64_t nanos = 0;
  if (__builtin_mul_overflow(moment.seconds, int64_t{1'000'000'000}, &nanos) ||
      __builtin_add_overflow(nanos, int64_t{moment.micros} * 1'000, &nanos)) {
    return std::nullopt;
  }
  return nanos;
}

int64_t MillisOf(const Moment& moment) {
  return moment.seconds * 1'000 + moment.micros / 1'000;
}

}  // namespace walpost::debezium
