#include "session/feedback_schedule.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr MonotonicTime kStart{std::chrono::hours(1)};
constexpr milliseconds kInterval{200};
constexpr seconds kTimeout{3};
constexpr seconds kLiveness{1};  // a third of kTimeout
constexpr Lsn kOld(100);
constexpr Lsn kNew(200);

FeedbackSchedule SentAtStart() {
  FeedbackSchedule schedule(kInterval, kTimeout);
  schedule.OnSent(kOld, kStart);
  return schedule;
}

TEST(FeedbackScheduleTest, TheFirstStatusIsDueAtOnce) {
  const FeedbackSchedule schedule(kInterval, kTimeout);
  EXPECT_TRUE(schedule.IsDue(Lsn(), kStart));
  EXPECT_TRUE(schedule.IsDue(kNew, kStart));
}

TEST(FeedbackScheduleTest, NewsAreDueAfterTheInterval) {
  const FeedbackSchedule schedule = SentAtStart();
  EXPECT_EQ(schedule.DueAt(kNew), kStart + kInterval);
  EXPECT_FALSE(schedule.IsDue(kNew, kStart + kInterval - milliseconds(1)));
  EXPECT_TRUE(schedule.IsDue(kNew, kStart + kInterval));
  EXPECT_TRUE(schedule.IsDue(kNew, kStart + minutes(5)));
}

TEST(FeedbackScheduleTest, WithoutNewsOnlyLivenessIsDue) {
  const FeedbackSchedule schedule = SentAtStart();
  EXPECT_EQ(schedule.DueAt(kOld), kStart + kLiveness);
  EXPECT_FALSE(schedule.IsDue(kOld, kStart + kLiveness - milliseconds(1)));
  EXPECT_TRUE(schedule.IsDue(kOld, kStart + kLiveness));
}

TEST(FeedbackScheduleTest, AnOlderLsnIsNoNews) {
  const FeedbackSchedule schedule = SentAtStart();
  EXPECT_EQ(schedule.DueAt(Lsn(50)), kStart + kLiveness);
  EXPECT_EQ(schedule.DueAt(Lsn()), kStart + kLiveness);
}

TEST(FeedbackScheduleTest, EveryStatusStartsTheWaitAnew) {
  FeedbackSchedule schedule = SentAtStart();
  schedule.OnSent(kNew, kStart + seconds(7));
  EXPECT_EQ(schedule.DueAt(kNew), kStart + seconds(7) + kLiveness);
  EXPECT_EQ(schedule.DueAt(Lsn(300)), kStart + seconds(7) + kInterval);
}

TEST(FeedbackScheduleTest, ARequestWithNewsIsAnsweredAtOnce) {
  FeedbackSchedule schedule = SentAtStart();
  schedule.OnReplyRequested();
  EXPECT_TRUE(schedule.IsDue(kNew, kStart));
}

TEST(FeedbackScheduleTest, ARequestWithoutNewsWaitsForTheLeastInterval) {
  constexpr auto kMin = FeedbackSchedule::kMinReplyInterval;
  FeedbackSchedule schedule = SentAtStart();
  schedule.OnReplyRequested();
  EXPECT_FALSE(schedule.IsDue(kOld, kStart + kMin - milliseconds(1)));
  EXPECT_TRUE(schedule.IsDue(kOld, kStart + kMin));
}

TEST(FeedbackScheduleTest, ARequestLongAfterTheLastStatusIsAnsweredAtOnce) {
  FeedbackSchedule schedule = SentAtStart();
  const MonotonicTime later = kStart + milliseconds(500);
  EXPECT_FALSE(schedule.IsDue(kOld, later));
  schedule.OnReplyRequested();
  EXPECT_TRUE(schedule.IsDue(kOld, later));
}

TEST(FeedbackScheduleTest, AnAnsweredRequestIsForgotten) {
  FeedbackSchedule schedule = SentAtStart();
  schedule.OnReplyRequested();
  schedule.OnSent(kOld, kStart + seconds(1));
  EXPECT_EQ(schedule.DueAt(kOld), kStart + seconds(1) + kLiveness);
  EXPECT_EQ(schedule.DueAt(kNew), kStart + seconds(1) + kInterval);
}

// A server that shuts down asks again the moment it is answered.
TEST(FeedbackScheduleTest, AServerThatKeepsAskingHearsTwentyTimesASecond) {
  FeedbackSchedule schedule = SentAtStart();
  int sent = 0;
  for (int ms = 1; ms <= 1'000; ++ms) {
    const MonotonicTime now = kStart + milliseconds(ms);
    schedule.OnReplyRequested();
    if (!schedule.IsDue(kOld, now)) continue;
    schedule.OnSent(kOld, now);
    ++sent;
  }
  EXPECT_EQ(sent, 20);
}

TEST(FeedbackScheduleTest, SteadyNewsAreToldOncePerInterval) {
  FeedbackSchedule schedule = SentAtStart();
  int sent = 0;
  for (int ms = 1; ms <= 10'000; ++ms) {
    const MonotonicTime now = kStart + milliseconds(ms);
    const Lsn confirmed(1'000u + static_cast<uint64_t>(ms));
    if (!schedule.IsDue(confirmed, now)) continue;
    schedule.OnSent(confirmed, now);
    ++sent;
  }
  EXPECT_EQ(sent, 50);
}

// For every wal_sender_timeout that the configuration takes, and for news
// that a long status_interval holds back as well.
TEST(FeedbackScheduleTest, ASignOfLifeComesWellBeforeTheTimeout) {
  for (const milliseconds timeout :
       {milliseconds(1'000), milliseconds(5'000), milliseconds(30'000),
        milliseconds(60'000), milliseconds(3'600'000)}) {
    for (const milliseconds interval :
         {milliseconds(1), milliseconds(200), milliseconds(10'000),
          milliseconds(3'600'000)}) {
      FeedbackSchedule schedule(interval, timeout);
      schedule.OnSent(kOld, kStart);
      for (const Lsn confirmed : {kOld, kNew}) {
        EXPECT_LT(schedule.DueAt(confirmed), kStart + timeout / 2)
            << "status_interval " << interval.count()
            << " ms, wal_sender_timeout " << timeout.count()
            << " ms, news: " << (confirmed == kNew);
      }
    }
  }
}

TEST(FeedbackScheduleTest, P2NothingIsToldFromBeforeWhereTheSlotStood) {
  FeedbackSchedule schedule(kInterval, kTimeout, kNew);
  EXPECT_EQ(schedule.ToTell(kOld), Lsn());
  EXPECT_EQ(schedule.ToTell(kNew), kNew);
  schedule.OnSent(kOld, kStart);
  EXPECT_FALSE(schedule.IsDue(kOld, kStart + kInterval)) << "no news";
  EXPECT_TRUE(schedule.IsDue(kNew, kStart + kInterval));
  EXPECT_TRUE(schedule.IsDue(kOld, kStart + kLiveness));
}

}  // namespace
}  // namespace walpost
