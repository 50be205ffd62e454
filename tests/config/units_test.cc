#include "config/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace walpost {
namespace {

using std::chrono::milliseconds;

struct DurationRow {
  const char* text;
  int64_t millis;
  const char* formatted;
};

TEST(UnitsTest, ReadsDurationsAndWritesThemInTheLargestUnit) {
  const DurationRow rows[] = {
      {"0ms", 0, "0ms"},
      {"0h", 0, "0ms"},
      {"1ms", 1, "1ms"},
      {"200ms", 200, "200ms"},
      {"1000ms", 1'000, "1s"},
      {"1500ms", 1'500, "1500ms"},
      {"10s", 10'000, "10s"},
      {"90s", 90'000, "90s"},
      {"120s", 120'000, "2m"},
      {"5m", 300'000, "5m"},
      {"60m", 3'600'000, "1h"},
      {"24h", 86'400'000, "1d"},
      {"36h", 129'600'000, "36h"},
      {"7d", 604'800'000, "7d"},
      {"007s", 7'000, "7s"},
      {"300000000h", 1'080'000'000'000'000, "12500000d"},
  };
  for (const DurationRow& row : rows) {
    const auto parsed = ParseDuration(row.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->count(), row.millis) << row.text;
    EXPECT_EQ(FormatDuration(*parsed), row.formatted) << row.text;
  }
}

struct SizeRow {
  const char* text;
  size_t bytes;
  const char* formatted;
};

TEST(UnitsTest, ReadsSizesAndWritesThemInTheLargestUnit) {
  const SizeRow rows[] = {
      {"0", 0, "0"},
      {"1", 1, "1"},
      {"1000000", 1'000'000, "1000000"},
      {"1024", 1'024, "1KiB"},
      {"512KiB", 524'288, "512KiB"},
      {"16MiB", 16'777'216, "16MiB"},
      {"1536KiB", 1'572'864, "1536KiB"},
      {"4096MiB", 4'294'967'296, "4GiB"},
      {"1GiB", 1'073'741'824, "1GiB"},
  };
  for (const SizeRow& row : rows) {
    const auto parsed = ParseSize(row.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, row.bytes) << row.text;
    EXPECT_EQ(FormatSize(*parsed), row.formatted) << row.text;
  }
}

// Both limits of delivery.max_in_flight_bytes can be written as bytes.
TEST(UnitsTest, ReadsFourGibibytesWrittenAsAPlainNumber) {
  const auto parsed = ParseSize("4294967296");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, size_t{4} << 30);
}

TEST(UnitsTest, WhatIsWrittenReadsBack) {
  for (size_t value = 1; value < (size_t{1} << 29); value = value * 3 + 1) {
    EXPECT_EQ(*ParseSize(FormatSize(value)), value);
    const milliseconds duration(value);
    EXPECT_EQ(*ParseDuration(FormatDuration(duration)), duration);
  }
}

TEST(UnitsTest, RefusesWhatIsNoDurationAndQuotesIt) {
  for (const std::string text :
       {"", "s", "10", "-1s", "+1s", "1.5s", "1e3s", "10 s", " 10s", "10s ",
        "10S", "10sec", "1h30m", "10us", "0x10s", "ten", "\xff"}) {
    const absl::Status status = ParseDuration(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_EQ(
        status.message(),
        "'" + text +
            "' is not a duration; write it like 200ms, 10s, 5m, 1h or 7d");
  }
}

TEST(UnitsTest, RefusesWhatIsNoSizeAndQuotesIt) {
  for (const std::string text :
       {"", "KiB", "-1", "+1", "1.5MiB", "1e6", "16 MiB", " 16", "16 ", "16MB",
        "16M", "16mib", "16MiBs", "0x10", "1_000", "1,000"}) {
    const absl::Status status = ParseSize(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_EQ(
        status.message(),
        "'" + text + "' is not a size; write it like 16MiB, 512KiB or 1000000");
  }
}

TEST(UnitsTest, RefusesWhatWouldOverflow) {
  for (const std::string digits :
       {"5124095576030432", "9223372036854775807", "18446744073709551615",
        "18446744073709551616", "99999999999999999999999999"}) {
    for (const char* unit : {"ms", "s", "m", "h"}) {
      EXPECT_TRUE(
          absl::IsInvalidArgument(ParseDuration(digits + unit).status()))
          << digits << unit;
    }
    for (const char* unit : {"", "KiB", "MiB", "GiB"}) {
      EXPECT_TRUE(absl::IsInvalidArgument(ParseSize(digits + unit).status()))
          << digits << unit;
    }
  }
}

}  // namespace
}  // namespace walpost
