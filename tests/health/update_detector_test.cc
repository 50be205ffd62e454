#include "health/update_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "health/published_sample.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

class UpdateDetectorTest : public ::testing::Test {
 protected:
  // The totals of the partitions 1, 2, ... of the outbox.
  void After(seconds pause, std::vector<uint64_t> totals) {
    now_ += pause;
    std::vector<UpdateDetector::Total> observed;
    for (size_t i = 0; i < totals.size(); ++i) {
      observed.push_back({0, i + 1, totals[i]});
    }
    detector_.Observe(observed, now_);
  }
  uint64_t updates() const { return detector_.counts()[0].updates; }
  bool IsDue(uint64_t taken) const { return detector_.IsDue(0, taken, now_); }
  std::optional<std::string> Compared(uint64_t taken, size_t different) {
    return detector_.OnCompared(
        0, taken, UpdateDetector::Comparison{20, different}, now_);
  }

  UpdateDetector detector_{{"public.outbox"}};
  MonotonicTime now_{};
};

TEST_F(UpdateDetectorTest, UpdatesFromBeforeAreNotCounted) {
  After(seconds(2), {1'000});
  After(seconds(2), {1'000});
  EXPECT_EQ(updates(), 0u);
  After(seconds(2), {1'020});
  EXPECT_EQ(updates(), 20u);
}

TEST_F(UpdateDetectorTest, APartitionThatIsAttachedBringsNoUpdates) {
  After(seconds(2), {10});
  After(seconds(2), {10, 5'000});
  EXPECT_EQ(updates(), 0u);
  After(seconds(2), {10, 5'003});
  EXPECT_EQ(updates(), 3u);
}

TEST_F(UpdateDetectorTest, APartitionThatIsDroppedHidesNoUpdates) {
  After(seconds(2), {10, 5'000});
  After(seconds(2), {13});
  EXPECT_EQ(updates(), 3u);
}

TEST_F(UpdateDetectorTest, StatisticsThatBeginAgainAreNoUpdates) {
  After(seconds(2), {100});
  After(seconds(2), {3});
  EXPECT_EQ(updates(), 0u);
  After(seconds(2), {5});
  EXPECT_EQ(updates(), 2u);
}

TEST_F(UpdateDetectorTest, AnotherServerMayHaveCountedMore) {
  After(seconds(2), {100});
  detector_.OnConnected();
  After(seconds(2), {5'000});
  EXPECT_EQ(updates(), 0u);
  After(seconds(2), {5'001});
  EXPECT_EQ(updates(), 1u);
}

TEST_F(UpdateDetectorTest, WithoutUpdatesNothingIsCompared) {
  After(seconds(2), {0});
  EXPECT_FALSE(IsDue(5));
}

TEST_F(UpdateDetectorTest, ABurstIsComparedWhenItHasEnded) {
  After(seconds(2), {0});
  After(seconds(2), {7});
  EXPECT_FALSE(IsDue(7));
  After(seconds(2), {20});
  EXPECT_FALSE(IsDue(20));
  After(seconds(2), {20});
  EXPECT_FALSE(IsDue(0)) << "nothing was published";
  EXPECT_TRUE(IsDue(20));
  EXPECT_THAT(Compared(20, 20),
              Optional(AllOf(HasSubstr("public.outbox"), HasSubstr("20 rows"),
                             HasSubstr("20 of 20"))));
  now_ += UpdateDetector::kMinPause;
  EXPECT_FALSE(IsDue(20));
}

TEST_F(UpdateDetectorTest, UpdatesWithoutEndAreComparedWithinSeconds) {
  for (uint64_t total = 0; total < 4; ++total) {
    EXPECT_FALSE(IsDue(9)) << total;
    After(seconds(2), {total});
  }
  EXPECT_FALSE(IsDue(9));
  After(seconds(2), {4});
  EXPECT_TRUE(IsDue(9));
}

TEST_F(UpdateDetectorTest, UpdatesThatLeaveTheEventAreNotWarnedOf) {
  After(seconds(2), {0});
  After(seconds(2), {20});
  After(seconds(2), {20});
  EXPECT_EQ(Compared(20, 0), std::nullopt);
  EXPECT_FALSE(IsDue(30)) << "at most every 10 s";
  now_ += UpdateDetector::kMinPause;
  EXPECT_TRUE(IsDue(30));
}

// An event may come from the WAL long after its row was updated.
TEST_F(UpdateDetectorTest, EventsOfABacklogAreComparedToo) {
  After(seconds(2), {20});
  EXPECT_TRUE(IsDue(1));
  EXPECT_EQ(Compared(1, 0), std::nullopt);
  now_ += UpdateDetector::kMinPause;
  EXPECT_FALSE(IsDue(1));
  EXPECT_TRUE(IsDue(2));
  EXPECT_NE(Compared(2, 1), std::nullopt);
}

TEST_F(UpdateDetectorTest, WarnsAgainWhenTheUpdatesHaveDoubled) {
  After(seconds(2), {0});
  After(seconds(2), {20});
  EXPECT_NE(Compared(1, 1), std::nullopt);
  After(seconds(20), {39});
  EXPECT_EQ(Compared(2, 1), std::nullopt);
  After(seconds(20), {40});
  EXPECT_NE(Compared(3, 1), std::nullopt);
  now_ += UpdateDetector::kMinSilence;
  EXPECT_NE(Compared(4, 1), std::nullopt);
}

TEST_F(UpdateDetectorTest, WhatCannotBeComparedIsSaidOnce) {
  After(seconds(2), {0});
  After(seconds(2), {20});
  EXPECT_THAT(detector_.OnCompared(
                  0, 1, absl::FailedPreconditionError("GRANT SELECT"), now_),
              Optional(HasSubstr("GRANT SELECT")));
  now_ += UpdateDetector::kMinPause;
  EXPECT_FALSE(IsDue(2));
  now_ += UpdateDetector::kPauseAfterFailure;
  EXPECT_TRUE(IsDue(2));
  EXPECT_EQ(detector_.OnCompared(
                0, 1, absl::FailedPreconditionError("GRANT SELECT"), now_),
            std::nullopt);
}

Event Row(std::string_view id, Value payload) {
  Event event;
  event.id = id;
  event.aggregate_id = "key";
  event.payload = payload;
  return event;
}

TEST(PublishedSampleTest, ARowThatIsAsItWasPublishedDoesNotDiffer) {
  PublishedSample sample;
  sample.Note(Row("1", std::nullopt));
  sample.Note(Row("2", "{}"));
  EXPECT_THAT(sample.ids(0), ElementsAre("1", "2"));
  EXPECT_FALSE(sample.Differs(Row("2", "{}")));
  EXPECT_FALSE(sample.Differs(Row("3", "{}"))) << "not known";
}

TEST(PublishedSampleTest, ACompletedRowDiffers) {
  PublishedSample sample;
  sample.Note(Row("1", std::nullopt));
  EXPECT_TRUE(sample.Differs(Row("1", "{}")));
  EXPECT_TRUE(sample.Differs(Row("1", ""))) << "NULL is not empty";
}

// After a reset of its sequence, two rows have one id.
TEST(PublishedSampleTest, AnIdMayHaveBeenPublishedTwice) {
  PublishedSample sample;
  sample.Note(Row("1", "old"));
  sample.Note(Row("1", "new"));
  EXPECT_FALSE(sample.Differs(Row("1", "old")));
  EXPECT_FALSE(sample.Differs(Row("1", "new")));
  EXPECT_TRUE(sample.Differs(Row("1", "other")));
}

TEST(PublishedSampleTest, TakesFewInAPassAndKeepsTheNewest) {
  PublishedSample sample;
  for (int i = 0; i < 100; ++i) sample.Note(Row("1", "{}"));
  EXPECT_EQ(sample.taken(0), PublishedSample::kMaxNewEvents);
  for (int pass = 0; pass < 10; ++pass) {
    sample.BeginPass();
    for (int i = 0; i < 100; ++i) sample.Note(Row("2", "{}"));
  }
  EXPECT_EQ(sample.ids(0).size(), PublishedSample::kMaxEvents);
  EXPECT_EQ(sample.ids(0).front(), "2");
}

TEST(PublishedSampleTest, EventsWithoutIdAndLargeOnesAreNotTaken) {
  PublishedSample sample;
  Event event = Row("1", "{}");
  event.id.reset();
  sample.Note(event);
  const std::string large(PublishedSample::kMaxPayloadBytes + 1, 'x');
  sample.Note(Row("1", large));
  EXPECT_EQ(sample.taken(0), 0u);
}

}  // namespace
}  // namespace walpost
