#include "session/standby_wait.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime kNow{seconds(1'000)};

TEST(StandbyWaitTest, KnowsItsWarningsByTheParameter) {
  EXPECT_TRUE(StandbyWait::IsMeant(
      "replication slot \"s\" specified in parameter "
      "\"synchronized_standby_slots\" does not have active_pid"));
  EXPECT_FALSE(StandbyWait::IsMeant("skipped loading publication \"p\""));
}

TEST(StandbyWaitTest, LastsWhileItIsSaidAgain) {
  StandbyWait hold;
  EXPECT_EQ(hold.Length(kNow), seconds(0));
  hold.OnWarning("first", kNow);
  hold.OnWarning("second", kNow + seconds(3));
  EXPECT_EQ(hold.Length(kNow + seconds(5)), seconds(5));
  EXPECT_EQ(hold.text(), "second");
  EXPECT_EQ(hold.Length(kNow + seconds(13)), seconds(0)) << "no more said";
  hold.OnWarning("third", kNow + seconds(20));
  EXPECT_EQ(hold.Length(kNow + seconds(21)), seconds(1)) << "begun anew";
}

TEST(StandbyWaitTest, EndsWhenSomethingComes) {
  StandbyWait hold;
  hold.OnWarning("held", kNow);
  hold.Clear();
  EXPECT_EQ(hold.Length(kNow), seconds(0));
}

}  // namespace
}  // namespace walpost
