#include "debezium/decimal.h"

#include <string>
#include <tuple>
#include <utility>

#include "gtest/gtest.h"

namespace walpost::debezium {
namespace {

std::string BytesOf(const std::string& text) {
  TextArena arena;
  const auto decimal = ParseDecimal(text, arena);
  std::string bytes;
  AppendUnscaledBytes(decimal.value(), bytes);
  std::string hex;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

TEST(DecimalTest, UnscaledBytesAreTheShortestTwosComplement) {
  const std::pair<const char*, const char*> kTable[] = {
      {"0", "00"},
      {"1", "01"},
      {"127", "7f"},
      {"128", "0080"},
      {"255", "00ff"},
      {"256", "0100"},
      {"-1", "ff"},
      {"-128", "80"},
      {"-129", "ff7f"},
      {"-255", "ff01"},
      {"-256", "ff00"},
      {"-257", "feff"},
      {"12.30", "04ce"},
      {"-0.00", "00"},
      {"123456789012345678901234567890", "018ee90ff6c373e0ee4e3f0ad2"},
      {"-18446744073709551616", "ff0000000000000000"},
  };
  for (const auto& [text, hex] : kTable) EXPECT_EQ(BytesOf(text), hex) << text;
}

TEST(DecimalTest, TextsAreThoseOfBigDecimal) {
  const std::tuple<const char*, const char*, const char*> kTable[] = {
      {"12.30", "12.30", "12.30"},
      {"0.0000001", "1E-7", "0.0000001"},
      {"0.00000012", "1.2E-7", "0.00000012"},
      {"0.000001", "0.000001", "0.000001"},
      {"0.0000000000", "0E-10", "0.0000000000"},
      {"-5", "-5", "-5"},
      {"1e3", "1E+3", "1000"},
      {"12e3", "1.2E+4", "12000"},
      {"-0.50", "-0.50", "-0.50"},
  };
  TextArena arena;
  for (const auto& [text, scientific, plain] : kTable) {
    const auto decimal = ParseDecimal(text, arena);
    ASSERT_TRUE(decimal.has_value()) << text;
    std::string printed;
    AppendDecimal(*decimal, printed);
    EXPECT_EQ(printed, scientific);
    printed.clear();
    AppendPlainDecimal(*decimal, printed);
    EXPECT_EQ(printed, plain);
  }
}

TEST(DecimalTest, OnlyNumbersAreRead) {
  TextArena arena;
  for (const char* text :
       {"", "-", "1.2.3", "1e", "e5", "x", "1 ", "NaN", "--1"}) {
    EXPECT_FALSE(ParseDecimal(text, arena).has_value()) << text;
  }
}

TEST(DecimalTest, TheScaleIsChangedWithRounding) {
  TextArena arena;
  const std::tuple<const char*, int, const char*> kTable[] = {
      {"1.005", 2, "1.01"}, {"1.004", 2, "1.00"}, {"9.995", 2, "10.00"},
      {"0.4", 0, "0"},      {"0.5", 0, "1"},      {"1.5", 3, "1.500"},
  };
  for (const auto& [text, scale, rounded] : kTable) {
    const auto decimal = WithScale(ParseDecimal(text, arena).value(), scale,
                                   Rounding::kHalfUp, arena);
    std::string printed;
    AppendPlainDecimal(decimal.value(), printed);
    EXPECT_EQ(printed, rounded) << text;
  }
  EXPECT_FALSE(WithScale(ParseDecimal("1.005", arena).value(), 2,
                         Rounding::kUnnecessary, arena)
                   .has_value());
}

}  // namespace
}  // namespace walpost::debezium
