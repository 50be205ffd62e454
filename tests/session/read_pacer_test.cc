#include "session/read_pacer.h"

#include <gtest/gtest.h>

#include <random>

#include "support/random_seed.h"

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kShort = ReadPacer::kFullRead - 1;
constexpr size_t kFull = ReadPacer::kFullRead;
constexpr microseconds kNone{0};

constexpr milliseconds kLongest{8};

class ReadPacerTest : public ::testing::Test {
 protected:
  using Duration = ReadPacer::Duration;

  // A read `later` than the one before; returns the pause after it.
  Duration Read(size_t events, size_t bytes, Duration later) {
    now_ += later;
    const size_t messages = 3 * events;  // of transactions of one row
    return pacer_.PauseAfter(
        {messages, bytes, events == 0 ? 0 : bytes / events, events}, now_);
  }
  // What was read is acknowledged `later`.
  void Acknowledge(Duration later) {
    now_ += later;
    pacer_.OnAllAcknowledged(now_);
  }
  // One period with these events, and a read that ends it. Acknowledgements
  // take 1 ms.
  void BecomeBusy(size_t events = 30, size_t bytes = kFull) {
    for (int i = 0; i < 100; ++i) {
      Read(1, 1, milliseconds(100));
      Acknowledge(milliseconds(1));
    }
    Read(0, 0, ReadPacer::kMeasured);
    Read(events, bytes, milliseconds(0));
    Acknowledge(milliseconds(1));
    Read(0, 0, ReadPacer::kMeasured - milliseconds(1));
  }
  static int Milliseconds(Duration duration) {
    return static_cast<int>(std::chrono::round<milliseconds>(duration).count());
  }

  ReadPacer pacer_{kLongest};
  MonotonicTime now_{std::chrono::hours(1)};
};

TEST_F(ReadPacerTest, NeverPausesOnAQuietStream) {
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(Read(1, 300, milliseconds(3)), kNone) << i;
    Acknowledge(milliseconds(1));
  }
}

TEST_F(ReadPacerTest, TheFirstReadDoesNotPause) {
  EXPECT_EQ(Read(1, 300, milliseconds(0)), kNone);
}

TEST_F(ReadPacerTest, NothingPausesBeforeAnAcknowledgementIsMeasured) {
  Read(30, 300, ReadPacer::kMeasured);
  Acknowledge(kNone);
  EXPECT_EQ(Read(0, 0, ReadPacer::kMeasured), kNone);
}

TEST_F(ReadPacerTest, PausesForAsLongAsSixAcknowledgementsTake) {
  BecomeBusy();
  EXPECT_EQ(Milliseconds(Read(1, 300, kNone)), 6);
}

TEST_F(ReadPacerTest, FollowsTheAcknowledgements) {
  BecomeBusy();
  for (int i = 0; i < 50; ++i) {
    Read(30, 300, ReadPacer::kMeasured);
    Acknowledge(microseconds(500));
  }
  EXPECT_EQ(Milliseconds(Read(1, 300, kNone)), 3);
}

TEST_F(ReadPacerTest, WhatIsNotAcknowledgedCountsAtOnce) {
  BecomeBusy();
  Read(1, 300, kNone);
  EXPECT_EQ(Read(0, 0, milliseconds(2)), kLongest);
  Acknowledge(kNone);
  EXPECT_LT(Read(0, 0, kNone), kLongest);
}

TEST_F(ReadPacerTest, OneSlowAcknowledgementIsForgotten) {
  BecomeBusy();
  Read(1, 300, kNone);
  Acknowledge(std::chrono::minutes(10));
  for (int i = 0; i < 30; ++i) {
    Read(30, 300, ReadPacer::kMeasured);
    Acknowledge(milliseconds(1));
  }
  EXPECT_EQ(Milliseconds(Read(0, 0, kNone)), 6);
}

TEST_F(ReadPacerTest, NeverPausesWhereTheNextMessageMayBeThereInPart) {
  BecomeBusy();
  EXPECT_EQ(Read(1, 10'000, microseconds(10)), kNone) << "of a read of 16 KB";
  EXPECT_EQ(Read(2, 9'000, microseconds(10)), kNone);
  EXPECT_GT(Read(1, 5'000, microseconds(10)), kNone);
}

TEST_F(ReadPacerTest, NeverPausesAfterAFullRead) {
  BecomeBusy();
  EXPECT_EQ(Read(40, kFull, microseconds(10)), kNone);
  EXPECT_EQ(Read(1, 10 * kFull, microseconds(10)), kNone) << "one huge row";
  EXPECT_GT(Read(100, kShort - 200, microseconds(10)), kNone)
      << "it was still busy";
}

TEST_F(ReadPacerTest, PausesOnceAllIsReadBehindAFullRead) {
  BecomeBusy();
  EXPECT_EQ(pacer_.PauseAtEnd(now_), kNone) << "it has paused already";
  EXPECT_EQ(Read(40, kFull, microseconds(10)), kNone);
  EXPECT_GT(pacer_.PauseAtEnd(now_), kNone);
  EXPECT_EQ(pacer_.PauseAtEnd(now_), kNone) << "and once";
}

TEST_F(ReadPacerTest, NoMoreGathersThanASocketHolds) {
  BecomeBusy(100, /*bytes=*/40 * kFull);  // in 10 ms
  EXPECT_EQ(Read(1, 300, microseconds(10)), microseconds(250));
  EXPECT_EQ(Read(40, kFull, microseconds(10)), kNone);
  EXPECT_EQ(pacer_.PauseAtEnd(now_), kNone) << "more comes at once";
  BecomeBusy(/*events=*/1'280, /*bytes=*/1'280);
  EXPECT_EQ(Milliseconds(3 * Read(1, 1, microseconds(10))), 1)
      << "of messages, of which each event has three";
}

TEST_F(ReadPacerTest, APauseMustBeWorthIt) {
  BecomeBusy(/*events=*/4);
  EXPECT_GT(Read(1, 300, kNone), kNone) << "two are expected in 5 ms";
  BecomeBusy(/*events=*/3);
  EXPECT_EQ(Read(1, 300, kNone), kNone) << "in 6.7 ms";
}

TEST_F(ReadPacerTest, EventsOfAPeriodAddUp) {
  BecomeBusy(/*events=*/0);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Read(1, 100, microseconds(1)), kNone) << i;
  }
  EXPECT_GT(Read(1, 300, ReadPacer::kMeasured), kNone);
}

TEST_F(ReadPacerTest, StopsPausingWhenTheStreamTurnsQuiet) {
  BecomeBusy();
  EXPECT_GT(Read(1, 300, microseconds(10)), kNone);
  Acknowledge(milliseconds(1));
  Read(1, 300, ReadPacer::kMeasured);
  EXPECT_EQ(Read(1, 300, ReadPacer::kMeasured), kNone);
}

TEST_F(ReadPacerTest, StaysBusyWhileItPausesAtTheRateItKnows) {
  BecomeBusy();
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_GT(Read(60, 8'000, kLongest), kNone) << i;
  }
}

TEST_F(ReadPacerTest, ZeroIsNoPauseAtAll) {
  pacer_ = ReadPacer(kNone);
  BecomeBusy();
  EXPECT_EQ(Read(1, 300, kNone), kNone);
}

// Whatever comes, an event waits for no longer than it may.
TEST_F(ReadPacerTest, NoPauseIsLongerThanTheLimit) {
  const uint64_t seed = testing::RandomSeeds(1).front();
  SCOPED_TRACE(testing::ReplayWith(seed));
  std::mt19937_64 random(seed);
  const auto below = [&random](size_t limit) { return random() % limit; };
  size_t pauses = 0;
  for (int i = 0; i < 100'000; ++i) {
    const size_t events = below(2) * below(200);
    const size_t bytes = events * below(500);
    const Duration pause = Read(events, bytes, microseconds(below(8'000)));
    ASSERT_GE(pause, kNone);
    ASSERT_LE(pause, kLongest);
    pauses += pause > kNone ? 1 : 0;
    if (below(3) == 0) Acknowledge(microseconds(below(8'000)));
  }
  EXPECT_GT(pauses, 1'000u);
}

}  // namespace
}  // namespace walpost
