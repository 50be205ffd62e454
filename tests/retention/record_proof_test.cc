// P11: a row goes only with proof.
#include "retention/record_proof.h"

#include <gtest/gtest.h>

#include "base/reason_code.h"
#include "delivery/gap.h"

namespace walpost {
namespace {

constexpr char kCoverage[] = "16388:690,public.outbox=16385.r16394:691";
constexpr char kCoverageOfBoth[] =
    "16388:690,public.outbox=16385.r16394:691,public.more=16400.r16401:702";

BirthRecord Record() {
  BirthRecord record;
  record.slot = "orders";
  record.streamed_from = 745;
  record.born_at = WallTime(std::chrono::seconds(1'000'000'000));
  record.coverage = kCoverage;
  return record;
}

class RecordProofTest : public ::testing::Test {
 protected:
  RecordProofTest() {
    tables_.resize(2);
    tables_[0].name = "public.outbox";
    tables_[1].name = "public.more";
  }

  absl::Status Take(const std::optional<BirthRecord>& record,
                    const std::string& now = kCoverage) {
    return proof_.Take(record, Coverage::Parse(now), tables_);
  }

  std::vector<TableOptions> tables_;
  RecordProof proof_;
};

TEST_F(RecordProofTest, ProvesFromATransactionAndATimeOn) {
  ASSERT_TRUE(Take(Record()).ok());
  EXPECT_TRUE(proof_.Covers(0));
  EXPECT_EQ(proof_.RuleOf(0).streamed_from, 745u);
  EXPECT_EQ(proof_.RuleOf(0).born_at, Record().born_at);
  EXPECT_EQ(proof_.Since(0),
            "slot orders is known to send rows since transaction 745 and "
            "2001-09-09T01:46:40Z");
}

TEST_F(RecordProofTest, P11NothingBeforeALookAndNothingAfterAFailedOne) {
  EXPECT_FALSE(proof_.is_complete());
  ASSERT_TRUE(Take(Record()).ok());
  EXPECT_FALSE(Take(Record(), "16388:700,public.outbox=16385.r16394:691").ok());
  EXPECT_FALSE(proof_.Covers(0));
  EXPECT_EQ(proof_.RuleOf(0).streamed_from, 0u);
}

TEST_F(RecordProofTest, P11AGapOnRecordProvesNothing) {
  BirthRecord record = Record();
  record.gap = kGapWalForked;
  const absl::Status status = Take(record);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(ReasonCodeOf(status), kGapWalForked);
  EXPECT_FALSE(proof_.Covers(0));
}

TEST_F(RecordProofTest, P11DefinitionsThatHaveChangedAreAGap) {
  const absl::Status status =
      Take(Record(), "16388:690,public.outbox=16385.r16395:702");
  EXPECT_EQ(ReasonCodeOf(status), kGapCoverageChanged);
  EXPECT_NE(status.message().find("walpost recover"), std::string::npos);
}

TEST_F(RecordProofTest, P11ATableThatWasAddedLaterIsNotProven) {
  ASSERT_TRUE(Take(Record(), kCoverageOfBoth).ok());
  EXPECT_TRUE(proof_.Covers(0));
  EXPECT_FALSE(proof_.Covers(1));
  EXPECT_EQ(proof_.RuleOf(1).streamed_from, 0u);
}

TEST_F(RecordProofTest, P11ATableThatWasAddedLaterHasItsOwnFences) {
  BirthRecord record = Record();
  record.added = {{"public.more", "16400.r16401:702", 912, Lsn(9)}};
  ASSERT_TRUE(Take(record, kCoverageOfBoth).ok());
  EXPECT_FALSE(proof_.Covers(1)) << "it is only announced";
  const WallTime since(std::chrono::seconds(1'100'000'000));
  record.added->front().sent_since = since;
  ASSERT_TRUE(Take(record, kCoverageOfBoth).ok());
  EXPECT_EQ(proof_.RuleOf(1).streamed_from, 912u);
  EXPECT_EQ(proof_.RuleOf(1).born_at, since);
  EXPECT_EQ(proof_.RuleOf(0).streamed_from, 745u);
  EXPECT_NE(proof_.Since(1).find("transaction 912"), std::string::npos);
}

TEST_F(RecordProofTest, P11RowsThatWerePassedOverAreAGap) {
  BirthRecord record = Record();
  record.coverage = std::string(kCoverageOfBoth) + ",*=passed.16400@0/1";
  const absl::Status status = Take(record, kCoverageOfBoth);
  EXPECT_EQ(ReasonCodeOf(status), kGapTablePassedOver);
  EXPECT_FALSE(proof_.Covers(0));
  EXPECT_TRUE(Take(record).ok()) << "the configuration does not have it";
}

TEST_F(RecordProofTest, P11WithoutARecordOrWithAnOlderOneNothingIsProven) {
  ASSERT_TRUE(Take(std::nullopt).ok());
  EXPECT_FALSE(proof_.Covers(0));
  BirthRecord record = Record();
  record.streamed_from = 0;
  ASSERT_TRUE(Take(record).ok());
  EXPECT_FALSE(proof_.Covers(0));
  record = Record();
  record.coverage.clear();
  ASSERT_TRUE(Take(record).ok());
  EXPECT_FALSE(proof_.Covers(0));
  EXPECT_EQ(proof_.RuleOf(0).streamed_from, 0u);
}

}  // namespace
}  // namespace walpost
