// Dates and times as java.time prints them (ISO 8601, UTC), and as
// java.util.Date does.
#pragma once

#include <cstdint>
#include <string>

#include "debezium/postgres_time.h"

namespace walpost::debezium {

// "2020-01-02", "-0043-03-15", "+12020-01-02".
void AppendIsoDate(int64_t days, std::string& out);

// "03:04:05" and the fraction: as many digits as it has (0), or that many.
void AppendIsoTime(int64_t micros_of_day, int fraction_digits,
                   std::string& out);

// "2020-01-02T03:04:05.678901Z".
void AppendIsoTimestamp(const Moment& moment, int fraction_digits,
                        std::string& out);

// Date.toString where the zone is UTC: "Sun Mar 24 20:52:59 UTC 2019".
void AppendJavaDateText(int64_t millis, std::string& out);

// The format that Kafka Connect chooses for a header: a time before
// 1970-01-02, a date at midnight, else both, with milliseconds.
void AppendHeaderDateText(int64_t millis, std::string& out);

}  // namespace walpost::debezium
