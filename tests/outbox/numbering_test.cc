#include "outbox/numbering.h"

#include <gtest/gtest.h>

#include <set>

namespace walpost {
namespace {

OutboxOptions Tables(std::vector<std::string> names) {
  OutboxOptions options;
  for (std::string& name : names) {
    options.tables.emplace_back().name = std::move(name);
  }
  return options;
}

TEST(NumberingTest, IsTheSameInEveryRelease) {
  EXPECT_EQ(NumberingOf(Tables({"public.outbox"}), "walpost"),
            UINT64_C(4202625519643905873));
}

TEST(NumberingTest, DiffersWhereOtherRowsCount) {
  OutboxOptions messages = Tables({"public.outbox"});
  messages.messages.prefix = "outbox";
  OutboxOptions other_messages = messages;
  other_messages.messages.prefix = "events";
  const std::set<uint64_t> all = {
      NumberingOf(Tables({"public.outbox"}), "walpost"),
      NumberingOf(Tables({"public.outbox"}), "other"),
      NumberingOf(Tables({"public.outbox", "public.more"}), "walpost"),
      NumberingOf(Tables({"public.outboxpublic.more"}), "walpost"),
      NumberingOf(Tables({}), "walpost"),
      NumberingOf(messages, "walpost"),
      NumberingOf(other_messages, "walpost"),
  };
  EXPECT_EQ(all.size(), 7u);
  for (const uint64_t numbering : all) {
    EXPECT_GT(numbering, 0u);
    EXPECT_LE(numbering, static_cast<uint64_t>(INT64_MAX));
  }
}

TEST(NumberingTest, StaysWhereTheSameRowsCount) {
  const uint64_t numbering = NumberingOf(Tables({"a.one", "a.two"}), "walpost");
  EXPECT_EQ(NumberingOf(Tables({"a.two", "a.one"}), "walpost"), numbering);
  OutboxOptions options = Tables({"a.one", "a.two"});
  options.tables[0].topic = "elsewhere";
  options.tables[0].columns.id = {FieldSource::Kind::kColumn, "key"};
  options.route.topic = "{type}";
  options.value_format = ValueFormat::kProtobuf;
  EXPECT_EQ(NumberingOf(options, "walpost"), numbering);
  options.tables[1].name = "a.renamed";
  EXPECT_NE(NumberingOf(options, "walpost"), numbering);
  options.tables[1].formerly = {"a.two", "a.three"};
  EXPECT_EQ(NumberingOf(options, "walpost"), numbering);
}

TEST(NumberingTest, StaysWhenATableComesByItsPattern) {
  OutboxOptions options = Tables({"a.one"});
  const uint64_t without = NumberingOf(options, "walpost");
  options.patterns.emplace_back().name = "t*.outbox";
  const uint64_t numbering = NumberingOf(options, "walpost");
  EXPECT_NE(numbering, without);
  options.tables.emplace_back().name = "t1.outbox";
  options.tables.back().pattern = "t*.outbox";
  EXPECT_EQ(NumberingOf(options, "walpost"), numbering);
}

}  // namespace
}  // namespace walpost
