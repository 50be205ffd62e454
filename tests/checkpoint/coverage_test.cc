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

TEST(CoverageTest, TakesAnyText) {
  for (const char* text : {",", "=", ",,=,", "%", ",a%=b", ",a%4=b", "x,y"}) {
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

TEST(CoverageTest, TablesOfAnotherConfigurationAreNoChange) {
  Coverage one = kCoverage;
  one.tables.pop_back();
  EXPECT_EQ(DescribeChange(kCoverage, one), "");
  EXPECT_EQ(DescribeChange(one, kCoverage), "");
}

TEST(CoverageTest, ATableThatWasLeftOutStaysSo) {
  Coverage one = kCoverage;
  const Coverage::Table out = one.tables.back();
  one.tables.pop_back();
  const Coverage left = WithLeftOut(one, kCoverage);
  ASSERT_EQ(left.tables.size(), kCoverage.tables.size());
  EXPECT_EQ(DescribeChange(left, one), "");
  EXPECT_EQ(DescribeChange(left, kCoverage),
            "table " + out.name + " was left out of outbox.tables");
  EXPECT_EQ(WithLeftOut(kCoverage, left), left);
  const std::string text = left.ToString();
  EXPECT_EQ(MergeCoverage(one.ToString(), kCoverage.ToString()), text);
  EXPECT_EQ(MergeCoverage("", text), text);
  EXPECT_EQ(MergeCoverage(text, ""), text);
  EXPECT_EQ(MarkLeftOut(kCoverage.ToString(), text), text);
  EXPECT_EQ(MarkLeftOut(one.ToString(), text), one.ToString());
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
