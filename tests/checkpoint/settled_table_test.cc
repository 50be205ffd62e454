// P9, P11: what is on record once Kafka has all rows of a table.
#include "checkpoint/settled_table.h"

#include <gtest/gtest.h>

#include "base/xid.h"

namespace walpost {
namespace {

const Coverage::Table kMore{"public.more", "16400.r16410:900"};
constexpr char kPassed[] =
    "16388:690,public.outbox=16385.r16394:691,*=passed.16400@0/64.17000@0/32";

SettledTable All() { return {kMore, kFirstTransaction, WallTime(), Lsn(500)}; }

BirthRecord Record() {
  BirthRecord record;
  record.slot = "orders";
  record.system_identifier = "7";
  record.streamed_from = 700;
  record.coverage = kPassed;
  record.added.emplace();
  return record;
}

TEST(SettledTableTest, ATableIsUnsettledUntilItsRowsAreInKafka) {
  EXPECT_TRUE(IsUnsettled(kPassed, kMore));
  EXPECT_TRUE(IsUnsettled("16388:690", kMore)) << "it is new";
  EXPECT_TRUE(IsUnsettled("16388:690,public.more=left", kMore));
  EXPECT_TRUE(
      IsUnsettled("16388:690,public.more=left.16400.r16410:900", kMore));
  const std::string settled = Settle(kPassed, All());
  EXPECT_FALSE(IsUnsettled(settled, kMore));
  EXPECT_TRUE(Coverage::Parse(settled).passed_over.Contains(17000));
  EXPECT_EQ(
      DescribeChange(Coverage::Parse(settled), Coverage{"16388:690", {kMore}}),
      "");
}

TEST(SettledTableTest, P11TheProofOfATableIsItsOwn) {
  const BirthRecord settled = Settle(Record(), All());
  EXPECT_FALSE(IsUnsettled(CoverageOf(settled, Announced::kNo), kMore));
  const AddedTable* added = FindAdded(settled, "public.more");
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->from_transaction, kFirstTransaction);
  EXPECT_TRUE(added->is_taken_up());
  EXPECT_EQ(settled.streamed_from, 700u);
  EXPECT_EQ(Coverage::Parse(settled.coverage).tables.size(), 1u);
}

TEST(SettledTableTest, ATableSinceTheBirthThatWasLeftOutIsSettledLikewise) {
  BirthRecord record = Record();
  record.coverage += ",public.more=left.16400.r16410:900";
  const BirthRecord settled = Settle(record, All());
  EXPECT_FALSE(IsUnsettled(CoverageOf(settled, Announced::kNo), kMore));
  EXPECT_EQ(Coverage::Parse(settled.coverage).tables.size(), 1u);
  const BirthRecord again = Settle(settled, All());
  EXPECT_EQ(again, settled);
}

}  // namespace
}  // namespace walpost
