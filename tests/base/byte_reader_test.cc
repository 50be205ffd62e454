#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace walpost {
namespace {

using std::literals::operator""sv;

TEST(ByteReaderTest, ReadsBigEndianFieldsOffTheFront) {
  ByteReader reader(
      "\x01"
      "\x02\x03"
      "\x04\x05\x06\x07"
      "\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
      "\xff\xff\xff\xff\xff\xff\xff\xfe"
      "rest"sv);
  EXPECT_EQ(reader.ReadUint8(), 0x01);
  EXPECT_EQ(reader.ReadUint16(), 0x0203);
  EXPECT_EQ(reader.ReadUint32(), 0x04050607u);
  EXPECT_EQ(reader.ReadUint64(), 0x08090A0B0C0D0E0Fu);
  EXPECT_EQ(reader.ReadInt64(), -2);
  EXPECT_EQ(reader.rest(), "rest");
  EXPECT_FALSE(reader.failed());
}

TEST(ByteReaderTest, HighBitsAreNotSigns) {
  ByteReader reader("\xff\x80\x80\x80\x80"sv);
  EXPECT_EQ(reader.ReadUint8(), 0xFF);
  EXPECT_EQ(reader.ReadUint32(), 0x80808080u);
}

TEST(ByteReaderTest, ReadsBytesAsAView) {
  const std::string bytes = "abcdef";
  ByteReader reader(bytes);
  const std::string_view taken = reader.ReadBytes(4);
  EXPECT_EQ(taken, "abcd");
  EXPECT_EQ(taken.data(), bytes.data());
  EXPECT_EQ(reader.ReadBytes(0), "");
  EXPECT_EQ(reader.rest(), "ef");
}

TEST(ByteReaderTest, ReadsCStringsWithoutTheirNul) {
  ByteReader reader("one\0\0two\0x"sv);
  EXPECT_EQ(reader.ReadCString(), "one");
  EXPECT_EQ(reader.ReadCString(), "");
  EXPECT_EQ(reader.ReadCString(), "two");
  EXPECT_EQ(reader.rest(), "x");
  EXPECT_FALSE(reader.failed());
}

TEST(ByteReaderTest, ReadPastTheEndFailsAndGivesNothing) {
  struct Row {
    const char* name;
    std::string_view bytes;
    uint64_t (*read)(ByteReader&);
  };
  const Row rows[] = {
      {"uint8", "", [](ByteReader& r) -> uint64_t { return r.ReadUint8(); }},
      {"uint16", "\x01",
       [](ByteReader& r) -> uint64_t { return r.ReadUint16(); }},
      {"uint32", "\x01\x02\x03",
       [](ByteReader& r) -> uint64_t { return r.ReadUint32(); }},
      {"uint64", "\x01\x02\x03\x04\x05\x06\x07",
       [](ByteReader& r) -> uint64_t { return r.ReadUint64(); }},
      {"bytes", "abc",
       [](ByteReader& r) -> uint64_t { return r.ReadBytes(4).size(); }},
      {"the most bytes", "abc",
       [](ByteReader& r) -> uint64_t { return r.ReadBytes(SIZE_MAX).size(); }},
      {"text without NUL", "abc",
       [](ByteReader& r) -> uint64_t { return r.ReadCString().size(); }},
  };
  for (const Row& row : rows) {
    ByteReader reader(row.bytes);
    EXPECT_EQ(row.read(reader), 0u) << row.name;
    EXPECT_TRUE(reader.failed()) << row.name;
    EXPECT_TRUE(reader.rest().empty()) << row.name;
  }
}

TEST(ByteReaderTest, StaysFailed) {
  ByteReader reader("ab");
  reader.ReadUint32();
  EXPECT_EQ(reader.ReadUint8(), 0) << "what was left is not read after all";
  EXPECT_EQ(reader.ReadBytes(0), "");
  EXPECT_TRUE(reader.failed());
}

TEST(ByteReaderTest, ReadsUpToTheLastByte) {
  ByteReader reader("abcd"sv);
  EXPECT_EQ(reader.ReadBytes(4), "abcd");
  EXPECT_TRUE(reader.rest().empty());
  EXPECT_FALSE(reader.failed());
}

}  // namespace
}  // namespace walpost
