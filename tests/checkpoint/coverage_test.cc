#include "checkpoint/coverage.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const Coverage kCoverage{"16390:742",
                         {{"public.outbox", "16385.r16394:745"},
                          {"Audit log.events,x=1", "16401.a.t16403:750"}}};

TEST(CoverageTest, IsReadBackAsItWasWritten) {
  const std::string text = kCoverage.ToString();
  EXPECT_EQ(text.find(' '), std::string::npos) << text;
  EXPECT_EQ(Coverage::Parse(text), kCoverage) << text;
  EXPECT_EQ(Coverage::Parse(""), Coverage());
}

// 0.2.0 compares what stands before the first comma as a whole.
TEST(CoverageTest, TheOwnerStandsWhereTheVersionBeforeLooksForNone) {
  const Coverage coverage{"16390:742o16385", {{"public.outbox", "16385"}}};
  EXPECT_EQ(coverage.ToString(), "16390:742,!=o16385,public.outbox=16385");
  EXPECT_EQ(Coverage::Parse(coverage.ToString()), coverage);
  EXPECT_EQ(Coverage::Parse("16390:742o16385,public.outbox=16385"), coverage);
}

TEST(CoverageTest, WhatTheVersionBeforeHasMadeOfItIsNoTable) {
  const Coverage kept = Coverage::Parse(
      "16390:742,public.outbox=16385,%21=left,%2A=left,public.gone=left");
  EXPECT_EQ(kept,
            (Coverage{"16390:742",
                      {{"public.outbox", "16385"}, {"public.gone", "left"}}}));
  EXPECT_FALSE(kept.passed_over.is_complete());
}

TEST(CoverageTest, TakesAnyText) {
  for (const char* text : {",", "=", ",,=,", "%", ",a%=b", ",a%4=b", "x,y",
                           ",*=left", ",*=passed.", ",*=passed.x@y",
                           ",!=", "1:2,!=o", "1:2o3,!=o4", ",!=o,!=p"}) {
    EXPECT_NO_FATAL_FAILURE(Coverage::Parse(text)) << text;
  }
}

TEST(CoverageTest, KnowsTheOidsOfTheTables) {
  Coverage coverage = kCoverage;
  coverage.tables.push_back({"public.missing", ""});
  EXPECT_EQ(TableOids(coverage), (std::vector<uint32_t>{16385, 16401, 0}));
}

TEST(CoverageTest, TheSameDefinitionsAreNoChange) {
  EXPECT_EQ(DescribeChange(kCoverage, kCoverage), "");
}

// Whoever accepts it has to know of each.
TEST(CoverageTest, P9EachTableThatHasChangedIsNamed) {
  Coverage now = kCoverage;
  for (Coverage::Table& table : now.tables) table.definition = "";
  EXPECT_EQ(DescribeChange(kCoverage, now),
            "table public.outbox does not exist, table Audit log.events,x=1 "
            "does not exist");
  Coverage before{"1:1", {}};
  for (int i = 0; i < 25; ++i) before.tables.push_back({"t.a", "1.r1:1"});
  now = before;
  for (Coverage::Table& table : now.tables) table.definition = "";
  const std::string change = DescribeChange(before, now);
  EXPECT_TRUE(change.ends_with(", and 5 more changed tables")) << change;
}

TEST(CoverageTest, TablesOfAnotherConfigurationAreNoChange) {
  Coverage one = kCoverage;
  one.tables.pop_back();
  EXPECT_EQ(DescribeChange(kCoverage, one), "");
  EXPECT_EQ(DescribeChange(one, kCoverage), "");
}

Coverage Without(const std::string& name) {
  Coverage coverage = kCoverage;
  std::erase_if(coverage.tables, [&name](const Coverage::Table& table) {
    return table.name == name;
  });
  return coverage;
}

constexpr char kAudit[] = "Audit log.events,x=1";

TEST(CoverageTest, ATableThatIsLeftOutStaysOnRecord) {
  const Coverage one = Without(kAudit);
  const Coverage left = TakeUp(one, kCoverage);
  ASSERT_EQ(left.tables.size(), kCoverage.tables.size());
  EXPECT_EQ(left.tables.back().definition, "left.16401.a.t16403:750");
  EXPECT_EQ(DescribeChange(left, one), "");
  EXPECT_TRUE(LeavesOutMore(kCoverage.ToString(), left.ToString()));
  EXPECT_FALSE(LeavesOutMore(left.ToString(), left.ToString()));
  EXPECT_EQ(MergeCoverage(one.ToString(), kCoverage.ToString()),
            MergeCoverage(one.ToString(), left.ToString()));
  EXPECT_EQ(MergeCoverage("", left.ToString()), left.ToString());
  EXPECT_EQ(MergeCoverage(left.ToString(), ""), left.ToString());
  EXPECT_EQ(Coverage::Parse(left.ToString()), left);
}

// None of its rows was passed over, or that is on record.
TEST(CoverageTest, ATableThatIsListedAgainAsItWasIsNoChange) {
  const Coverage left = TakeUp(Without(kAudit), kCoverage);
  EXPECT_EQ(DescribeChange(left, kCoverage), "");
  EXPECT_EQ(TakeUp(kCoverage, left).tables, kCoverage.tables);
  EXPECT_EQ(WithStateOf(left.ToString(), kCoverage.ToString()),
            TakeUp(kCoverage, left).ToString());
  EXPECT_TRUE(AddedTables(left, kCoverage).empty());
}

TEST(CoverageTest, ATableThatIsListedAgainWithAnotherDefinitionIsAChange) {
  const Coverage left = TakeUp(Without(kAudit), kCoverage);
  Coverage again = kCoverage;
  again.tables.back().definition = "16401.a.t16403:800";
  EXPECT_NE(DescribeChange(left, again).find("was left out"),
            std::string::npos);
  const std::string merged = MergeCoverage(again.ToString(), left.ToString());
  EXPECT_NE(DescribeChange(Coverage::Parse(merged), again), "")
      << "whoever wrote the newer record did not resolve it";
}

TEST(CoverageTest, AMarkOfAnOlderReleaseIsAChange) {
  Coverage left = kCoverage;
  left.tables.back().definition = "left";
  EXPECT_EQ(DescribeChange(left, kCoverage),
            "table " + std::string(kAudit) + " was left out of outbox.tables");
}

TEST(CoverageTest, ARecordLearnsWhichTablesAreLeftOut) {
  const std::string state = TakeUp(Without(kAudit), kCoverage).ToString();
  const Coverage marked =
      Coverage::Parse(WithStateOf(kCoverage.ToString(), state));
  EXPECT_EQ(marked.tables.back().definition, "left.16401.a.t16403:750");
  const std::string one = Without(kAudit).ToString();
  EXPECT_EQ(WithStateOf(one, state), one) << "it gets no other table";
}

TEST(CoverageTest, ATableUnderAnotherNameIsTheSame) {
  Coverage renamed = kCoverage;
  renamed.tables[0].name = "public.events";
  renamed.tables[1].name = "audit.events";
  renamed.tables[1].definition = "16401.a.t16403:900";  // changes with the name
  EXPECT_EQ(DescribeChange(kCoverage, renamed), "");
  EXPECT_TRUE(AddedTables(kCoverage, renamed).empty());
  EXPECT_EQ(FormerNames(kCoverage, renamed),
            (std::vector<std::string>{"public.outbox", kAudit}));
  EXPECT_EQ(FormerNames(kCoverage, kCoverage),
            (std::vector<std::string>{"", ""}));
  EXPECT_EQ(TakeUp(renamed, kCoverage).tables, renamed.tables);
  EXPECT_EQ(WithStateOf(kCoverage.ToString(), renamed.ToString()),
            renamed.ToString());
  renamed.tables[0].definition = "16385.r17000:900";
  EXPECT_NE(DescribeChange(kCoverage, renamed), "");
}

TEST(CoverageTest, KnowsWhichTablesWereAdded) {
  const Coverage one = Without(kAudit);
  ASSERT_EQ(AddedTables(one, kCoverage).size(), 1u);
  EXPECT_EQ(AddedTables(one, kCoverage).front().name, kAudit);
  EXPECT_TRUE(AddedTables(kCoverage, one).empty());
}

// ---- Rows that were passed over.

TEST(CoverageTest, RowsThatWerePassedOverBeforeTheStreamGoesOnAreMissing) {
  Coverage before = TakeUp(Without(kAudit), Coverage());
  EXPECT_TRUE(before.passed_over.is_complete()) << "from now on it is kept";
  before.passed_over.Add(16401, Lsn(100));
  before.passed_over.Add(17000, Lsn(50));
  const auto passed = PassedTables(before, kCoverage, Lsn(101));
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed.front().name, kAudit);
  EXPECT_EQ(passed.front().since, Lsn(100));
  EXPECT_TRUE(PassedTables(before, kCoverage, Lsn(100)).empty())
      << "the stream sends them";
  EXPECT_TRUE(PassedTables(before, Without(kAudit), Lsn(200)).empty());
  const Coverage taken_up = TakeUp(kCoverage, before);
  EXPECT_FALSE(taken_up.passed_over.Contains(16401));
  EXPECT_TRUE(taken_up.passed_over.Contains(17000));
  EXPECT_EQ(Coverage::Parse(taken_up.ToString()), taken_up);
}

TEST(CoverageTest, AnyTableThatIsNotKnownMayHaveBeenPassedOver) {
  Coverage before = TakeUp(Without(kAudit), Coverage());
  for (uint32_t oid = 1; oid <= PassedOver::kMaxRelations + 1; ++oid) {
    before.passed_over.Add(oid, Lsn(oid));
  }
  const auto passed = PassedTables(before, kCoverage, Lsn(1'000));
  ASSERT_EQ(passed.size(), 1u) << "not public.outbox, which was sent";
  EXPECT_EQ(passed.front().name, kAudit);
  EXPECT_EQ(passed.front().since, Lsn(PassedOver::kMaxRelations + 1));
}

TEST(CoverageTest, ATableThatWasLeftOutAndPassedOverIsMissing) {
  Coverage left = TakeUp(Without(kAudit), kCoverage);
  EXPECT_TRUE(PassedTables(left, kCoverage, Lsn(200)).empty());
  left.passed_over.Add(16401, Lsn(100));
  EXPECT_EQ(PassedTables(left, kCoverage, Lsn(200)).size(), 1u);
}

// A role that may not write the record has passed over its rows unsaid.
TEST(CoverageTest, ATableThatWasLeftOutIsMissingIfThatIsNotOnRecord) {
  Coverage left = TakeUp(Without(kAudit), kCoverage);
  left.passed_over.SetComplete(false);
  const auto passed = PassedTables(left, kCoverage, Lsn(200));
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed.front().since, Lsn());
}

TEST(CoverageTest, ARecordThatBeginsAgainKnowsWhatWasPassedOver) {
  Coverage before = TakeUp(Without(kAudit), Coverage());
  before.passed_over.Add(16401, Lsn(100));
  before.passed_over.Add(17000, Lsn(50));
  const Coverage carried =
      Coverage::Parse(CarryPassedOver(kCoverage.ToString(), before.ToString()));
  EXPECT_EQ(carried.tables, kCoverage.tables);
  EXPECT_FALSE(carried.passed_over.Contains(16401)) << "it is listed";
  EXPECT_TRUE(carried.passed_over.Contains(17000));
  EXPECT_TRUE(carried.passed_over.is_complete());
}

TEST(CoverageTest, ATableWhoseLossIsAcceptedIsNotOnRecord) {
  Coverage coverage = kCoverage;
  ASSERT_GE(coverage.tables.size(), 2u);
  coverage.tables[0].definition.clear();
  const Coverage left =
      Coverage::Parse(WithoutMissingTables(coverage.ToString()));
  EXPECT_EQ(left.tables.size(), coverage.tables.size() - 1);
  EXPECT_EQ(left.publication, coverage.publication);
  EXPECT_EQ(AddedTables(left, kCoverage).size(), 1u) << "if it is made again";
}

TEST(CoverageTest, TwoRecordsKnowMoreThanOne) {
  Coverage newer = TakeUp(Without(kAudit), Coverage());
  Coverage older = newer;
  newer.passed_over.Add(1, Lsn(10));
  older.passed_over.Add(2, Lsn(20));
  older.passed_over.SetComplete(false);
  const Coverage merged =
      Coverage::Parse(MergeCoverage(newer.ToString(), older.ToString()));
  EXPECT_TRUE(merged.passed_over.Contains(1));
  EXPECT_TRUE(merged.passed_over.Contains(2));
  EXPECT_TRUE(merged.passed_over.is_complete());
  EXPECT_FALSE(
      Coverage::Parse(MergeCoverage(older.ToString(), newer.ToString()))
          .passed_over.is_complete())
      << "an older release wrote the last one";
}

TEST(CoverageTest, AnotherOwnerIsNoChange) {
  struct Row {
    const char* before;
    const char* now;
    bool is_change;
    bool has_new_owner;
  };
  const Row rows[] = {
      {"16390:742", "16390:800o7", false, true},
      {"16390:742o6", "16390:800o7", false, true},
      {"16390:742p10", "16390:800o7", false, true},
      {"16390:742w6", "16390:800p10", false, true},
      {"16390:800o7", "16390:800o7", false, false},
      {"16390:742", "16390:742o7", false, false},  // of an older release
      {"16390:742", "16390:742p10", false, false},
      {"16390:742", "16390:800p10", true, false},  // may be the same owner
      {"16390:742p10", "16390:800p10", true, false},
      {"16390:742o7", "16390:800w7", true, false},  // altered after it
      {"16390:742o7", "16390:800w6", true, false},
      {"16390:742o7", "16391:800o6", true, false},  // made again
      {"16390:742o7", "16391:742o7", true, false},
      {"16390:742o7", "", true, false},
  };
  for (const Row& row : rows) {
    Coverage before = kCoverage;
    Coverage now = kCoverage;
    before.publication = row.before;
    now.publication = row.now;
    EXPECT_EQ(!DescribeChange(before, now).empty(), row.is_change) << row.now;
    EXPECT_EQ(OwnerHasChanged(before, now), row.has_new_owner) << row.now;
    EXPECT_EQ(Coverage::Parse(now.ToString()), now);
    EXPECT_EQ(WithPublicationOf(before.ToString(), now.ToString()),
              now.ToString());
  }
}

struct ChangeCase {
  const char* name;
  Coverage now;
  const char* words;
};

class CoverageChangeTest : public testing::TestWithParam<ChangeCase> {};

TEST_P(CoverageChangeTest, IsNamed) {
  const std::string change = DescribeChange(kCoverage, GetParam().now);
  EXPECT_NE(change.find(GetParam().words), std::string::npos) << change;
}

Coverage With(std::string publication, std::string definition) {
  Coverage coverage = kCoverage;
  coverage.publication = std::move(publication);
  coverage.tables[0].definition = std::move(definition);
  return coverage;
}

INSTANTIATE_TEST_SUITE_P(
    , CoverageChangeTest,
    testing::Values(
        ChangeCase{"Dropped", With("", "16385.r16394:745"), "does not exist"},
        ChangeCase{"MadeAgain", With("17000:742", "16385.r16394:745"),
                   "dropped and created again"},
        ChangeCase{"Altered", With("16390:800", "16385.r16394:745"),
                   "was altered"},
        ChangeCase{"TableMissing", With("16390:742", ""),
                   "public.outbox does not exist"},
        ChangeCase{"TableSwapped", With("16390:742", "17001.r17002:800"),
                   "created again"},
        ChangeCase{"OutAndIn", With("16390:742", "16385.r17002:800"),
                   "taken out"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace walpost
