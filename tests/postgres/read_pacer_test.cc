#include "postgres/read_pacer.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kShort = ReadPacer::kFullRead - 1;
constexpr size_t kFull = ReadPacer::kFullRead;

class ReadPacerTest : public ::testing::Test {
 protected:
  // A read of so many messages, `later` than the one before.
  bool Read(size_t messages, microseconds later) {
    now_ += later;
    return pacer_.ShouldPauseAfter(messages, now_);
  }

  // One measured period with enough messages, and a read that ends it.
  void BecomeBusy() {
    Read(0, ReadPacer::kMeasured);
    Read(ReadPacer::kBusyMessages, milliseconds(1));
    Read(kFull, ReadPacer::kMeasured);
  }

  ReadPacer pacer_;
  MonotonicTime now_{std::chrono::hours(1)};
};

TEST_F(ReadPacerTest, NeverPausesOnAQuietStream) {
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(Read(1, milliseconds(1))) << i;
  }
}

TEST_F(ReadPacerTest, TheFirstReadDoesNotPause) {
  EXPECT_FALSE(Read(1, milliseconds(0)));
}

TEST_F(ReadPacerTest, PausesAfterAShortReadOfABusyStream) {
  BecomeBusy();
  EXPECT_TRUE(Read(1, microseconds(10)));
  EXPECT_TRUE(Read(0, microseconds(10)));
  EXPECT_TRUE(Read(kShort, microseconds(10)));
}

TEST_F(ReadPacerTest, NeverPausesAfterAFullRead) {
  BecomeBusy();
  EXPECT_FALSE(Read(kFull, microseconds(10)));
  EXPECT_FALSE(Read(10 * kFull, microseconds(10)));
  EXPECT_TRUE(Read(kShort, microseconds(10))) << "it was still busy";
}

TEST_F(ReadPacerTest, ABusyPeriodNeedsItsMessages) {
  Read(0, ReadPacer::kMeasured);
  Read(ReadPacer::kBusyMessages - 1, milliseconds(1));
  EXPECT_FALSE(Read(1, ReadPacer::kMeasured)) << "counts for the next period";
}

TEST_F(ReadPacerTest, MessagesOfAPeriodAddUp) {
  Read(0, ReadPacer::kMeasured);
  for (size_t i = 0; i < ReadPacer::kBusyMessages; ++i) {
    EXPECT_FALSE(Read(1, microseconds(1))) << i;
  }
  EXPECT_TRUE(Read(1, ReadPacer::kMeasured));
}

TEST_F(ReadPacerTest, DecidesOnlyWhenAPeriodIsOver) {
  Read(0, ReadPacer::kMeasured);
  Read(ReadPacer::kBusyMessages, microseconds(0));
  EXPECT_FALSE(Read(1, ReadPacer::kMeasured - microseconds(1)));
  EXPECT_TRUE(Read(1, microseconds(1)));
}

TEST_F(ReadPacerTest, StopsPausingWhenTheStreamTurnsQuiet) {
  BecomeBusy();
  EXPECT_TRUE(Read(1, microseconds(10)));
  EXPECT_FALSE(Read(1, ReadPacer::kMeasured));
  EXPECT_FALSE(Read(1, ReadPacer::kMeasured));
}

TEST_F(ReadPacerTest, MessagesBeforeALongSilenceDoNotMakeItBusy) {
  Read(0, ReadPacer::kMeasured);
  Read(ReadPacer::kBusyMessages, milliseconds(1));
  EXPECT_FALSE(Read(1, 4 * ReadPacer::kMeasured));
  EXPECT_FALSE(Read(1, microseconds(10)));
}

TEST_F(ReadPacerTest, StaysBusyWhileItPausesAtTheRateItKnows) {
  BecomeBusy();
  int pauses = 0;
  for (int i = 0; i < 1'000; ++i) {
    if (Read(20, ReadPacer::kPause)) ++pauses;
  }
  EXPECT_EQ(pauses, 1'000);
}

}  // namespace
}  // namespace walpost
