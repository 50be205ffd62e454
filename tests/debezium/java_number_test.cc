#include "debezium/java_number.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "support/random_seed.h"

namespace walpost::debezium {
namespace {

std::string OfDouble(double value) {
  std::string text;
  AppendJavaDouble(value, text);
  return text;
}

std::string OfFloat(float value) {
  std::string text;
  AppendJavaFloat(value, text);
  return text;
}

TEST(JavaNumberTest, DoublesHaveTheLayoutOfJava) {
  const std::pair<double, const char*> kTable[] = {
      {1.0, "1.0"},
      {1.10, "1.1"},
      {100, "100.0"},
      {1e7, "1.0E7"},
      {9999999.5, "9999999.5"},
      {123456789.123456789, "1.2345678912345679E8"},
      {1e21, "1.0E21"},
      {12345678901234567890.5, "1.2345678901234567E19"},
      {0.001, "0.001"},
      {0.0001, "1.0E-4"},
      {1e-7, "1.0E-7"},
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {5e-324, "4.9E-324"},
      {1e-323, "9.9E-324"},
      {2e-323, "2.0E-323"},
      {2.2250738585072014E-308, "2.2250738585072014E-308"},
      {1.7976931348623157e308, "1.7976931348623157E308"},
      {0.1234567890123456789, "0.12345678901234568"},
      {9.007199254740993e15, "9.007199254740992E15"},
      {2e23, "2.0E23"},
      {8.41e21, "8.41E21"},
      {-12.5, "-12.5"},
      {1234567, "1234567.0"},
      {std::numeric_limits<double>::infinity(), "Infinity"},
      {-std::numeric_limits<double>::infinity(), "-Infinity"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"},
  };
  for (const auto& [value, text] : kTable) EXPECT_EQ(OfDouble(value), text);
}

TEST(JavaNumberTest, FloatsHaveTheLayoutOfJava) {
  const std::pair<float, const char*> kTable[] = {
      {0.1f, "0.1"},
      {1e10f, "1.0E10"},
      {3.4028235e38f, "3.4028235E38"},
      {1.4e-45f, "1.4E-45"},
      {16777216.0f, "1.6777216E7"},
      {0.001f, "0.001"},
      {3.3f, "3.3"},
      {-0.0f, "-0.0"},
  };
  for (const auto& [value, text] : kTable) EXPECT_EQ(OfFloat(value), text);
}

TEST(JavaNumberTest, TextsReadBackAsTheSameNumber) {
  for (const uint64_t seed : testing::RandomSeeds(3)) {
    SCOPED_TRACE(testing::ReplayWith(seed));
    testing::Random random(seed);
    for (int i = 0; i < 20'000; ++i) {
      const auto bits = random.engine()();
      const double number = std::bit_cast<double>(bits);
      if (std::isfinite(number)) {
        EXPECT_EQ(std::strtod(OfDouble(number).c_str(), nullptr), number);
      }
      const float single = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (std::isfinite(single)) {
        EXPECT_EQ(std::strtof(OfFloat(single).c_str(), nullptr), single);
      }
    }
  }
}

}  // namespace
}  // namespace walpost::debezium
