#include "debezium/java_time.h"

#include <iterator>

#include "fmt/format.h"

namespace walpost::debezium {
namespace {

constexpr int64_t kMillisOfDay = 86'400'000;

struct CivilDate {
  int64_t year = 0;
  int month = 0;
  int day = 0;
};

CivilDate CivilDateOf(int64_t days) {
  days += 719'468;
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1'460 +
                               day_of_era / 36'524 - day_of_era / 146'096) /
                              365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  CivilDate date;
  date.day =
      static_cast<int>(day_of_year - (153 * month_from_march + 2) / 5) + 1;
  date.month =
      static_cast<int>(month_from_march) + (month_from_march < 10 ? 3 : -9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

int64_t FloorDivide(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

// What FloorDivide leaves, from 0 on. The whole part may be below int64_t.
int64_t FloorRest(int64_t value, int64_t divisor) {
  const int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

}  // namespace

void AppendIsoDate(int64_t days, std::string& out) {
  const CivilDate date = CivilDateOf(days);
  if (date.year < 0) {
    out += '-';
  } else if (date.year > 9'999) {
    out += '+';
  }
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}",
                 std::abs(date.year), date.month, date.day);
}

void AppendIsoTime(int64_t micros_of_day, int fraction_digits,
                   std::string& out) {
  const int64_t seconds = micros_of_day / 1'000'000;
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:{:02}", seconds / 3'600,
                 seconds / 60 % 60, seconds % 60);
  const int64_t micros = micros_of_day % 1'000'000;
  if (fraction_digits == 0 && micros == 0) return;
  std::string fraction = fmt::format("{:06}", micros);
  if (fraction_digits == 0) {
    fraction.erase(fraction.find_last_not_of('0') + 1);
  } else {
    fraction.resize(static_cast<size_t>(fraction_digits), '0');
  }
  out += '.';
  out += fraction;
}

void AppendIsoTimestamp(const Moment& moment, int fraction_digits,
                        std::string& out) {
  const int64_t days = FloorDivide(moment.seconds, 86'400);
  AppendIsoDate(days, out);
  out += 'T';
  AppendIsoTime((moment.seconds - days * 86'400) * 1'000'000 + moment.micros,
                fraction_digits, out);
  out += 'Z';
}

void AppendJavaDateText(int64_t millis, std::string& out) {
  constexpr const char* kWeekdays[] = {"Thu", "Fri", "Sat", "Sun",
                                       "Mon", "Tue", "Wed"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const int64_t days = FloorDivide(millis, kMillisOfDay);
  const int64_t seconds = FloorRest(millis, kMillisOfDay) / 1'000;
  const CivilDate date = CivilDateOf(days);
  const int64_t weekday = days - FloorDivide(days, 7) * 7;
  fmt::format_to(std::back_inserter(out),
                 "{} {} {:02} {:02}:{:02}:{:02} UTC {:04}", kWeekdays[weekday],
                 kMonths[date.month - 1], date.day, seconds / 3'600,
                 seconds / 60 % 60, seconds % 60,
                 date.year > 0 ? date.year : 1 - date.year);
}

void AppendHeaderDateText(int64_t millis, std::string& out) {
  const int64_t days = FloorDivide(millis, kMillisOfDay);
  const int64_t micros = FloorRest(millis, kMillisOfDay) * 1'000;
  const bool has_date = millis >= kMillisOfDay;
  if (has_date) {
    const CivilDate date = CivilDateOf(days);
    fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", date.year,
                   date.month, date.day);
  }
  if (has_date && millis % kMillisOfDay == 0) return;
  if (has_date) out += 'T';
  AppendIsoTime(micros, 3, out);
  out += 'Z';
}

}  // namespace walpost::debezium
