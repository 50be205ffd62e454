#include "log/repeated_line.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;

TEST(RepeatedLineTest, TheSameLineIsDueOncePerMinute) {
  RepeatedLine line;
  const MonotonicTime start{seconds(1'000)};
  EXPECT_TRUE(line.IsDue("permission denied (pid 7)", start));
  EXPECT_FALSE(line.IsDue("permission denied (pid 8)", start + seconds(59)));
  EXPECT_TRUE(line.IsDue("permission denied (pid 9)", start + seconds(60)));
  EXPECT_FALSE(line.IsDue("permission denied (pid 9)", start + seconds(61)));
}

TEST(RepeatedLineTest, AnotherLineIsDueAtOnce) {
  RepeatedLine line;
  const MonotonicTime start{seconds(1'000)};
  EXPECT_TRUE(line.IsDue("permission denied", start));
  EXPECT_TRUE(line.IsDue("connection refused", start + seconds(1)));
  EXPECT_TRUE(line.IsDue("permission denied", start + seconds(2)));
}

}  // namespace
}  // namespace walpost
