#include "session/read_pacer.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kShort = ReadPacer::kFullRead - 1;
constexpr size_t kFull = ReadPacer::kFullRead;
constexpr microseconds kNone{0};

class ReadPacerTest : public ::testing::Test {
 protected:
  // A read `later` than the one before; returns the pause after it.
  microseconds Read(size_t messages, size_t bytes, microseconds later) {
    now_ += later;
    return pacer_.PauseAfter(
        {messages, bytes, messages == 0 ? 0 : bytes / messages}, now_);
  }

  // One measured period of so many messages and bytes, and a read that ends
  // it.
  void BecomeBusy(size_t bytes = kFull,
                  size_t messages = ReadPacer::kBusyMessages) {
    Read(0, 0, ReadPacer::kMeasured);
    Read(messages, bytes, milliseconds(1));
    Read(40, kFull, ReadPacer::kMeasured - milliseconds(1));
  }

  ReadPacer pacer_;
  MonotonicTime now_{std::chrono::hours(1)};
};

TEST_F(ReadPacerTest, NeverPausesOnAQuietStream) {
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(Read(1, 300, milliseconds(1)), kNone) << i;
  }
}

TEST_F(ReadPacerTest, TheFirstReadDoesNotPause) {
  EXPECT_EQ(Read(1, 300, milliseconds(0)), kNone);
}

TEST_F(ReadPacerTest, PausesAfterAShortReadOfABusyStream) {
  BecomeBusy();
  EXPECT_GT(Read(1, 300, microseconds(10)), kNone);
  EXPECT_GT(Read(0, 0, microseconds(10)), kNone);
  EXPECT_GT(Read(100, kShort - 200, microseconds(10)), kNone);
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

TEST_F(ReadPacerTest, PausesForAsLongAsAFullReadTakesToGather) {
  BecomeBusy(/*bytes=*/40 * kFull);  // in 10 ms
  EXPECT_EQ(Read(1, 300, microseconds(10)), microseconds(250));
}

TEST_F(ReadPacerTest, NeverPausesForLongerThanTheLimit) {
  BecomeBusy(/*bytes=*/100);  // empty messages
  EXPECT_EQ(Read(1, 1, microseconds(10)), ReadPacer::kMaxPause);
}

TEST_F(ReadPacerTest, ABusyPeriodNeedsItsMessages) {
  BecomeBusy(100 * kFull, ReadPacer::kBusyMessages - 1);
  EXPECT_EQ(Read(1, 300, microseconds(10)), kNone);
}

TEST_F(ReadPacerTest, MessagesOfAPeriodAddUp) {
  Read(0, 0, ReadPacer::kMeasured);
  for (size_t i = 0; i < ReadPacer::kBusyMessages; ++i) {
    EXPECT_EQ(Read(1, 300, microseconds(1)), kNone) << i;
  }
  EXPECT_GT(Read(1, 300, ReadPacer::kMeasured), kNone);
}

TEST_F(ReadPacerTest, DecidesOnlyWhenAPeriodIsOver) {
  Read(0, 0, ReadPacer::kMeasured);
  Read(ReadPacer::kBusyMessages, 300, microseconds(0));
  EXPECT_EQ(Read(1, 300, ReadPacer::kMeasured - microseconds(1)), kNone);
  EXPECT_GT(Read(1, 300, microseconds(1)), kNone);
}

TEST_F(ReadPacerTest, StopsPausingWhenTheStreamTurnsQuiet) {
  BecomeBusy();
  EXPECT_GT(Read(1, 300, microseconds(10)), kNone);
  Read(1, 300, ReadPacer::kMeasured);
  EXPECT_EQ(Read(1, 300, ReadPacer::kMeasured), kNone);
}

TEST_F(ReadPacerTest, MessagesBeforeALongSilenceDoNotMakeItBusy) {
  Read(0, 0, ReadPacer::kMeasured);
  Read(ReadPacer::kBusyMessages, 300, milliseconds(1));
  EXPECT_EQ(Read(1, 300, 4 * ReadPacer::kMeasured), kNone);
  EXPECT_EQ(Read(1, 300, microseconds(10)), kNone);
}

TEST_F(ReadPacerTest, StaysBusyWhileItPausesAtTheRateItKnows) {
  BecomeBusy();
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_GT(Read(60, 8'000, ReadPacer::kMaxPause), kNone) << i;
  }
}

}  // namespace
}  // namespace walpost
