#include "log/cause_log.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

using std::chrono::seconds;

TEST(CauseLogTest, ACauseIsNewsOnceWhileItGoesOn) {
  CauseLog log;
  const MonotonicTime now;
  EXPECT_TRUE(log.IsNew("refused", now));
  EXPECT_FALSE(log.IsNew("refused", now + seconds(50)));
  EXPECT_FALSE(log.IsNew("refused", now + seconds(100)));
  EXPECT_TRUE(log.IsNew("reset", now + seconds(100)));
  EXPECT_TRUE(log.IsNew("refused", now + seconds(160)));
}

TEST(CauseLogTest, ManyCausesAreNotRemembered) {
  CauseLog log;
  const MonotonicTime now;
  for (size_t i = 0; i < CauseLog::kMax; ++i) {
    EXPECT_TRUE(log.IsNew(std::to_string(i), now));
  }
  EXPECT_TRUE(log.IsNew("more", now));
  EXPECT_TRUE(log.IsNew("more", now));
  EXPECT_FALSE(log.IsNew("0", now));
}

}  // namespace
}  // namespace walpost
