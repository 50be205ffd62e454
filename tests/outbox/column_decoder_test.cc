#include "outbox/column_decoder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "pgoutput/type_oid.h"

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::sys_days;
using std::chrono::year;
using std::literals::operator""sv;

TEST(ColumnDecoderTest, DecodesByteaInHexForm) {
  struct Row {
    const char* text;
    std::string_view bytes;
  };
  constexpr Row kRows[] = {
      {"\\x", ""sv},
      {"\\x00", "\0"sv},
      {"\\x00ff5c0a", "\0\xff\\\n"sv},
      {"\\x0123456789abcdef", "\x01\x23\x45\x67\x89\xab\xcd\xef"sv}};
  for (const Row& row : kRows) {
    std::string bytes = "what was there before";
    EXPECT_TRUE(DecodeBytea(row.text, bytes).ok()) << row.text;
    EXPECT_EQ(bytes, row.bytes) << row.text;
  }
}

TEST(ColumnDecoderTest, RefusesByteaInAnotherForm) {
  for (const char* text : {"", "\\", "x", "\\x0", "\\xzz", "\\x0g", "abc",
                           "\\000\\001", "x0011", "\\X00", "\\x00 "}) {
    std::string bytes;
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeBytea(text, bytes))) << text;
  }
}

struct Timestamp {
  uint32_t type;
  const char* text;
  WallTime time;
};

TEST(ColumnDecoderTest, DecodesTimestamps) {
  using pgoutput::kInt2Oid, pgoutput::kInt4Oid, pgoutput::kInt8Oid;
  using pgoutput::kTimestampOid, pgoutput::kTimestamptzOid;
  const WallTime day = sys_days(year(2024) / 1 / 2);
  const Timestamp rows[] = {
      {kTimestamptzOid, "2024-01-02 00:00:00+00", day},
      {kTimestampOid, "2024-01-02 00:00:00", day},
      {kTimestamptzOid, "2024-01-02 01:04:05.678901+00",
       day + microseconds(3'845'678'901)},
      {kTimestamptzOid, "2024-01-02 00:00:00.5+00",
       day + microseconds(500'000)},
      {kTimestampOid, "2024-01-02 00:00:00.000001", day + microseconds(1)},
      {kTimestamptzOid, "2024-02-29 23:59:59+00",
       sys_days(year(2024) / 2 / 29) + std::chrono::seconds(86'399)},
      {kTimestamptzOid, "1970-01-01 00:00:00+00", WallTime()},
      {kTimestamptzOid, "9999-12-31 00:00:00+00",
       sys_days(year(9999) / 12 / 31)},
      {kInt8Oid, "0", WallTime()},
      {kInt8Oid, "1704153600001", day + std::chrono::milliseconds(1)},
      {kInt4Oid, "2147483647",
       WallTime(std::chrono::milliseconds(2'147'483'647))},
      {kInt2Oid, "7", WallTime(std::chrono::milliseconds(7))},
  };
  for (const Timestamp& row : rows) {
    EXPECT_TRUE(IsTimestampType(row.type));
    const auto time = DecodeTimestamp(row.type, row.text);
    ASSERT_TRUE(time.ok()) << row.text << ": " << time.status();
    EXPECT_EQ(*time, row.time) << row.text;
  }
}

TEST(ColumnDecoderTest, RefusesTimestampsThatARecordCannotCarry) {
  using pgoutput::kInt8Oid, pgoutput::kTimestamptzOid;
  const Timestamp rows[] = {
      {kTimestamptzOid, "infinity", {}},
      {kTimestamptzOid, "-infinity", {}},
      {kTimestamptzOid, "1969-12-31 23:59:59.999999+00", {}},
      {kTimestamptzOid, "0044-03-15 00:00:00+00 BC", {}},
      {kTimestamptzOid, "2024-01-02 00:00:00+00 BC", {}},
      {kTimestamptzOid, "10000-01-01 00:00:00+00", {}},
      {kTimestamptzOid, "2024-02-30 00:00:00+00", {}},
      {kTimestamptzOid, "2024-13-01 00:00:00+00", {}},
      {kTimestamptzOid, "2024-01-02 00:00:00+05:30", {}},
      {kTimestamptzOid, "2024-01-02T00:00:00Z", {}},
      {kTimestamptzOid, "01.06.2024 08:00:00 EDT", {}},
      {kTimestamptzOid, "2024-01-02", {}},
      {kTimestamptzOid, "", {}},
      {kInt8Oid, "", {}},
      {kInt8Oid, "-1", {}},
      {kInt8Oid, "12.5", {}},
      {kInt8Oid, "9223372036854775807", {}},
      {kInt8Oid, "99999999999999999999", {}},
      {25, "2024-01-02 00:00:00+00", {}},
  };
  for (const Timestamp& row : rows) {
    const auto time = DecodeTimestamp(row.type, row.text);
    EXPECT_TRUE(absl::IsInvalidArgument(time.status())) << row.text;
  }
}

TEST(ColumnDecoderTest, EveryPrefixOfATimestampIsHarmless) {
  const std::string whole = "2024-01-02 01:04:05.678901+00";
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string prefix = whole.substr(0, size);
    const auto time = DecodeTimestamp(pgoutput::kTimestamptzOid, prefix);
    // From the seconds on, what is left may be a whole timestamp.
    EXPECT_TRUE(size >= 19 || !time.ok()) << prefix;
  }
}

TEST(ColumnDecoderTest, TextIsNoTimestamp) {
  EXPECT_FALSE(IsTimestampType(25));
  EXPECT_FALSE(IsTimestampType(1082)) << "date";
  EXPECT_FALSE(IsTimestampType(0));
}

}  // namespace
}  // namespace walpost
