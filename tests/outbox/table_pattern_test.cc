#include "outbox/table_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

OutboxOptions Patterns(const std::vector<std::string>& names) {
  OutboxOptions options;
  for (const std::string& name : names) {
    options.patterns.emplace_back().name = name;
    options.patterns.back().place = options.patterns.size();
  }
  return options;
}

std::vector<std::string> NamesOf(const OutboxOptions& outbox) {
  std::vector<std::string> names;
  for (const TableOptions& table : outbox.tables) names.push_back(table.name);
  return names;
}

TEST(TablePatternTest, AStarStandsForAnyCharactersOfOneIdentifier) {
  EXPECT_TRUE(MatchesPattern("tenant_*.outbox", "tenant_1.outbox"));
  EXPECT_TRUE(MatchesPattern("tenant_*.outbox", "tenant_.outbox"));
  EXPECT_TRUE(MatchesPattern("*.outbox", "a.outbox"));
  EXPECT_TRUE(MatchesPattern("t*_*.out*x", "tt_a_b.outbox"));
  EXPECT_TRUE(MatchesPattern("public.*", "public.a.b"));
  EXPECT_TRUE(MatchesPattern("a.**", "a."));
  EXPECT_TRUE(MatchesPattern("a.*b*c", "a.abcbxc"));
  EXPECT_FALSE(MatchesPattern("a.*b*c", "a.abcbx"));
  EXPECT_FALSE(MatchesPattern("tenant_*.outbox", "tenant_1.outbox2"));
  EXPECT_FALSE(MatchesPattern("tenant_*.outbox", "xtenant_1.outbox"));
  EXPECT_FALSE(MatchesPattern("tenant_*.outbox", "tenant_1.x.outbox"));
  EXPECT_FALSE(MatchesPattern("tenant_*.outbox", "Tenant_1.outbox"));
  EXPECT_FALSE(MatchesPattern("*x.outbox", "a.outbox"));
}

TEST(TablePatternTest, AnEscapedStarIsAStar) {
  EXPECT_TRUE(IsPattern("a*.b"));
  EXPECT_TRUE(IsPattern("a\\**.b"));
  EXPECT_FALSE(IsPattern("a\\*.b"));
  EXPECT_FALSE(IsPattern("a\\.b\\"));
  EXPECT_EQ(WithoutEscapes("a\\*.b\\c\\*"), "a*.b\\c*");
  EXPECT_TRUE(MatchesPattern("a\\**.b", "a*x.b"));
  EXPECT_FALSE(MatchesPattern("a\\**.b", "ax.b"));
  EXPECT_TRUE(MatchesPattern("a*\\*.b", "a**.b"));
  EXPECT_FALSE(MatchesPattern("a*\\*.b", "a*x.b"));
  EXPECT_TRUE(MatchesPattern("a\\b*.c", "a\\bx.c"));
}

TEST(TablePatternTest, IsWrittenAsItWasRead) {
  OutboxOptions outbox = Patterns({"a*.b\\*"});
  outbox.tables.emplace_back().name = "a*.b";
  const std::vector<TableOptions> entries = EntriesOf(outbox);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(NameInConfiguration(outbox, entries[0]), "a\\*.b");
  EXPECT_EQ(NameInConfiguration(outbox, entries[1]), "a*.b\\*");
}

TEST(TablePatternTest, LikeMatchesTheSame) {
  const LikeParts like = ToLike("te%n_\\*t*.*o\\x");
  EXPECT_EQ(like.schema, "te\\%n\\_*t%");
  EXPECT_EQ(like.table, "%o\\\\x");
}

TEST(TablePatternTest, ATableHasTheOptionsOfItsPattern) {
  OutboxOptions outbox = Patterns({"t*.outbox", "public.*"});
  outbox.patterns[0].topic = "mail";
  outbox.tables.emplace_back().name = "t1.outbox";
  const std::vector<std::string> names = {"t1.outbox", "t2.outbox", "x.y",
                                          "public.a", "t2.outbox"};
  ASSERT_TRUE(AddByPattern(outbox, names).ok());
  EXPECT_EQ(NamesOf(outbox),
            (std::vector<std::string>{"t1.outbox", "t2.outbox", "public.a"}));
  EXPECT_EQ(outbox.tables[0].topic, "") << "listed by its name";
  EXPECT_EQ(outbox.tables[1].topic, "mail");
  EXPECT_EQ(outbox.tables[1].pattern, "t*.outbox");
  EXPECT_EQ(EntriesOf(outbox).size(), 3u);
  EXPECT_EQ(NamesOf(WithoutExpansion(outbox)),
            std::vector<std::string>{"t1.outbox"});
  EXPECT_TRUE(UnmatchedPatterns(outbox).empty());
  EXPECT_EQ(UnmatchedPatterns(WithoutExpansion(outbox)).size(), 2u);
}

TEST(TablePatternTest, TwoPatternsForATableAreRefused) {
  OutboxOptions outbox = Patterns({"t*.outbox", "*.outbox"});
  const std::vector<std::string> names = {"t1.outbox"};
  const absl::Status status = AddByPattern(outbox, names);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  const std::string text(status.message());
  EXPECT_NE(text.find("table t1.outbox matches t*.outbox and *.outbox"),
            std::string::npos)
      << text;
  outbox.tables.emplace_back().name = "t1.outbox";
  EXPECT_TRUE(AddByPattern(outbox, names).ok());
}

TEST(TablePatternTest, DroppedTablesStayBehindTheOthers) {
  OutboxOptions outbox = Patterns({"t*.outbox"});
  ASSERT_TRUE(AddByPattern(outbox, std::vector<std::string>{"t2.outbox"}).ok());
  outbox.tables[0].is_dropped = true;
  ASSERT_TRUE(AddByPattern(outbox, std::vector<std::string>{"t3.outbox"}).ok());
  EXPECT_EQ(NamesOf(outbox),
            (std::vector<std::string>{"t3.outbox", "t2.outbox"}));
  EXPECT_EQ(NamesOf(WithoutDropped(outbox)),
            std::vector<std::string>{"t3.outbox"});
}

}  // namespace
}  // namespace walpost
