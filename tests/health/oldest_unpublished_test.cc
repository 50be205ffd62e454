#include "health/oldest_unpublished.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;

constexpr WallTime kCommit{seconds(1'700'000'000)};

InFlightRecord RecordAt(uint64_t lsn) {
  InFlightRecord record;
  record.position = {Lsn(lsn), 1};
  record.commit_time = kCommit;
  return record;
}

TEST(OldestUnpublishedTest, IsTheOldestRecordInFlight) {
  OldestUnpublished oldest;
  oldest.Look(nullptr, {});
  EXPECT_FALSE(oldest.commit_time().has_value());
  const InFlightRecord record = RecordAt(7);
  oldest.Look(&record, {});
  EXPECT_EQ(oldest.commit_time(), kCommit);
}

TEST(OldestUnpublishedTest, StaysWhenTheProducerIsLostUntilItIsSettled) {
  OldestUnpublished oldest;
  const InFlightRecord record = RecordAt(7);
  oldest.Look(&record, {Lsn(6), 1});
  oldest.Look(nullptr, {Lsn(6), 1});
  EXPECT_EQ(oldest.commit_time(), kCommit);
  oldest.Look(nullptr, {Lsn(7), 1});
  EXPECT_FALSE(oldest.commit_time().has_value());
}

TEST(OldestUnpublishedTest, AnotherStreamBeginsFromNothing) {
  OldestUnpublished oldest;
  const InFlightRecord record = RecordAt(7);
  oldest.Look(&record, {});
  oldest.StartOver();
  oldest.Look(nullptr, {});
  EXPECT_FALSE(oldest.commit_time().has_value());
}

}  // namespace
}  // namespace walpost
