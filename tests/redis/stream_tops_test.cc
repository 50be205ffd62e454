#include "redis/stream_tops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;

TEST(StreamTopsTest, KeepsTheNewestEntryOfEachStream) {
  StreamTops tops;
  EXPECT_EQ(tops.NewestOf("a"), "");
  tops.OnAcknowledged("a", {5, 1});
  tops.OnAcknowledged("a", {4, 9});
  tops.OnAcknowledged("b", {1, 0});
  EXPECT_EQ(tops.NewestOf("a"), "5-1");
  EXPECT_EQ(tops.text(), "a=5-1,b=1-0");
  tops.OnAcknowledged("b", {2, 0});
  EXPECT_EQ(tops.text(), "a=5-1,b=2-0");
}

TEST(StreamTopsTest, GoesThroughACheckpoint) {
  StreamTops before;
  before.OnAcknowledged("a,b=c%", {5, 1});
  before.OnAcknowledged("d", {6, 2});
  StreamTops after;
  after.Add(before.text());
  EXPECT_EQ(after.NewestOf("a,b=c%"), "5-1");
  EXPECT_EQ(after.text(), before.text());
}

// P9: an older checkpoint does not make a stream forget what it had.
TEST(StreamTopsTest, P9AnOlderTextTakesNothingBack) {
  StreamTops tops;
  tops.OnAcknowledged("a", {500, 0});
  tops.OnBehind("a", "300-0");
  tops.Add("a=100-0,=,b,c=x");
  EXPECT_EQ(tops.NewestOf("a"), "500-0");
  EXPECT_THAT(tops.replaced(), HasSubstr("stream a has come to 300-0"));
}

TEST(StreamTopsTest, SaysWhatIsMissing) {
  StreamTops tops;
  tops.OnAcknowledged("a", {500, 0});
  tops.OnBehind("a", "0-0");
  EXPECT_THAT(tops.replaced(), HasSubstr("no entry, and to 500-0"));
  tops.Forget();
  EXPECT_EQ(tops.replaced(), "");
  EXPECT_EQ(tops.text(), "");
}

TEST(StreamTopsTest, KnowsWhichEventsAreRepeated) {
  StreamTops tops;
  tops.SetRepeated("a", "");
  EXPECT_EQ(tops.RepeatedOf("a"), "");
  tops.SetRepeated("a", "7-1");
  EXPECT_EQ(tops.RepeatedOf("a"), "7-1");
  tops.Forget();
  EXPECT_EQ(tops.RepeatedOf("a"), "");
}

TEST(StreamTopsTest, IsLimited) {
  StreamTops tops;
  for (size_t i = 0; i < StreamTops::kMax + 10; ++i) {
    tops.OnAcknowledged("s" + std::to_string(i), {1, 1});
  }
  EXPECT_EQ(tops.Streams().size(), StreamTops::kMaxStored);
  EXPECT_LT(tops.text().size(), 1'000u);
}

TEST(StreamTopsTest, TakesOverWhatAnotherKnowsOfAStream) {
  StreamTops whole;
  StreamTops own;
  own.OnAcknowledged("a", {5, 0});
  own.OnAcknowledged("b", {6, 0});
  whole.Add(own, "b");
  EXPECT_EQ(whole.text(), "b=6-0");
  own.OnBehind("a", "3-0");
  whole.Add(own, "b");
  EXPECT_EQ(whole.replaced(), own.replaced()) << "of whichever stream";
}

TEST(StreamTopsTest, ADisplacementIsNewOnceForEachStream) {
  StreamTops tops;
  EXPECT_TRUE(tops.IsFirstDisplacement("a"));
  EXPECT_FALSE(tops.IsFirstDisplacement("a"));
  EXPECT_TRUE(tops.IsFirstDisplacement("b"));
}

}  // namespace
}  // namespace walpost
