#include "base/sql_name.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(SqlNameTest, QuotesAnyName) {
  EXPECT_EQ(QuoteName("outbox"), R"("outbox")");
  EXPECT_EQ(QuoteName(R"(it's "x")"), R"("it's ""x""")");
  EXPECT_EQ(QuoteName(""), R"("")");
}

TEST(SqlNameTest, QuotesAnyText) {
  EXPECT_EQ(QuoteText("outbox"), "'outbox'");
  EXPECT_EQ(QuoteText(R"(it's "x")"), R"('it''s "x"')");
  EXPECT_EQ(QuoteText(""), "''");
}

TEST(SqlNameTest, TheSchemaIsBeforeTheFirstDotThatIsNotQuoted) {
  const std::pair<const char*, const char*> rows[] = {
      {R"("public"."outbox")", R"("public")"},
      {"public.outbox", "public"},
      {R"("a.b"."c")", R"("a.b")"},
      {R"("a"".b"."c.d")", R"("a"".b")"},
      {R"("outbox")", ""},
      {R"("a.b")", ""},
      {"", ""},
  };
  for (const auto& [table, schema] : rows) {
    EXPECT_EQ(SchemaInSql(table), schema) << table;
  }
}

}  // namespace
}  // namespace walpost
