// P1: rows are on record as passed over before their LSN is confirmed.
#include "checkpoint/passed_over_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace walpost {
namespace {

using Kept = PassedOverRows::Kept;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Lsn kNoLimit(std::numeric_limits<uint64_t>::max());

TEST(PassedOverRowsTest, P1NothingIsConfirmedPastThemBeforeTheyAreOnRecord) {
  PassedOverRows rows(Kept::kOnRecord);
  EXPECT_EQ(rows.limit(), kNoLimit);
  EXPECT_FALSE(rows.is_due());
  rows.OnRow(7, "public.a", Lsn(100));
  rows.OnRow(8, "public.b", Lsn(90));
  EXPECT_TRUE(rows.is_due());
  EXPECT_EQ(rows.limit(), Lsn(90));
  const PassedOver written = rows.pending();
  rows.OnRow(9, "public.c", Lsn(120));
  rows.OnRecorded(written);
  EXPECT_EQ(rows.limit(), Lsn(120));
  EXPECT_TRUE(rows.is_due());
  rows.OnRecorded(rows.pending());
  EXPECT_EQ(rows.limit(), kNoLimit);
  rows.OnRow(7, "public.a", Lsn(130));
  EXPECT_FALSE(rows.is_due()) << "it is on record";
}

TEST(PassedOverRowsTest, CheckpointsTakeThemAlong) {
  PassedOverRows rows(Kept::kInCheckpoints);
  rows.OnRow(7, "public.a", Lsn(100));
  EXPECT_EQ(rows.limit(), kNoLimit);
  EXPECT_FALSE(rows.is_due());
  EXPECT_EQ(rows.pending().Since(7), Lsn(100));
}

TEST(PassedOverRowsTest, WhatIsOnRecordIsNotDueAgain) {
  PassedOverRows rows(Kept::kOnRecord);
  PassedOver known;
  known.Add(7, Lsn(50));
  rows.Begin(known, Lsn(60), Lsn(60));
  rows.OnRow(7, "public.a", Lsn(100));
  EXPECT_FALSE(rows.is_due());
  // An operator has settled the gap since.
  rows.Begin(PassedOver(), Lsn(110), Lsn(110));
  rows.OnRow(7, "public.a", Lsn(100));
  EXPECT_TRUE(rows.is_due());
}

// Another instance, which lists the table, took over and wrote the record; then
// this one goes on, from where it was.
TEST(PassedOverRowsTest, P9WhatThisProcessPassedOverBehindTheRecordIsDueAgain) {
  PassedOverRows rows(Kept::kInCheckpoints);
  rows.OnRow(7, "public.a", Lsn(100));
  rows.OnRow(9, "public.c", Lsn(260));
  rows.OnRecorded(rows.pending());
  rows.Begin(PassedOver(), Lsn(300), Lsn(300));
  EXPECT_TRUE(rows.pending().empty()) << "the record is as far";
  rows.Begin(PassedOver(), Lsn(250), Lsn(300));
  EXPECT_EQ(rows.pending().Since(7), Lsn(250));
  EXPECT_EQ(rows.pending().Since(9), Lsn(260));
  rows.OnRecorded(rows.pending());
  PassedOver known;
  known.Add(7, Lsn(250));
  known.Add(9, Lsn(260));
  rows.Begin(known, Lsn(250), Lsn(300));
  EXPECT_TRUE(rows.pending().empty());
}

TEST(PassedOverRowsTest, P1ARoleThatMayNotWriteHoldsOnlyListedTables) {
  PassedOverRows rows(Kept::kOnRecord);
  rows.OnRow(7, "public.a", Lsn(100));
  rows.OnRow(8, "public.b", Lsn(110));
  EXPECT_THAT(rows.OnRefused({8, 9}), ElementsAre("public.a"));
  EXPECT_THAT(rows.held(), ElementsAre("public.b"));
  EXPECT_EQ(rows.limit(), Lsn(110));
  EXPECT_FALSE(rows.is_due());
  rows.OnRow(7, "public.a", Lsn(120));
  EXPECT_FALSE(rows.is_due()) << "it was given up";
  rows.OnRow(9, "public.c", Lsn(130));
  EXPECT_TRUE(rows.is_due());
  EXPECT_EQ(rows.limit(), Lsn(110));
}

TEST(PassedOverRowsTest, BeyondTheLimitOneRecordIsForAll) {
  PassedOverRows rows(Kept::kOnRecord);
  for (uint32_t oid = 1; oid <= PassedOver::kMaxRelations + 5; ++oid) {
    rows.OnRow(oid, "public.t", Lsn(oid));
  }
  rows.OnRecorded(rows.pending());
  EXPECT_EQ(rows.limit(), kNoLimit);
  rows.OnRow(9'999, "public.new", Lsn(9'999));
  EXPECT_FALSE(rows.is_due());
  EXPECT_THAT(rows.held(), IsEmpty());
}

}  // namespace
}  // namespace walpost
