#include "postgres/publication.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

struct Row {
  const char* name;
  const char* sql;
};

TEST(PublicationTest, QuotesAnyName) {
  const Row rows[] = {
      {"outbox", R"("outbox")"},
      {"Outbox", R"("Outbox")"},
      {"a b", R"("a b")"},
      {"a.b", R"("a.b")"},
      {R"(a"b)", R"("a""b")"},
      {R"("a")", R"("""a""")"},
      {R"(")", R"("""")"},
      {"a'b", R"("a'b")"},
      {R"(a\b)", R"("a\b")"},
      {"select", R"("select")"},
      {"Tür", R"("Tür")"},
      {"", R"("")"},
      {"a\"; DROP TABLE b; --", "\"a\"\"; DROP TABLE b; --\""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(QuoteName(row.name), row.sql);
  }
}

TEST(PublicationTest, QuotesSchemaAndTableApart) {
  const Row rows[] = {
      {"public.outbox", R"("public"."outbox")"}, {"outbox", R"("outbox")"},
      {"Sales.Out Box", R"("Sales"."Out Box")"}, {"a.b.c", R"("a"."b.c")"},
      {R"(s"x.t"y)", R"("s""x"."t""y")"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(QuoteQualifiedName(row.name), row.sql);
  }
}

std::vector<TableOptions> Tables(const std::vector<std::string>& names) {
  std::vector<TableOptions> tables;
  for (const std::string& name : names) tables.emplace_back().name = name;
  return tables;
}

TEST(PublicationTest, PublishesTheInsertsOfItsTables) {
  EXPECT_EQ(CreatePublicationSql("walpost", Tables({"public.outbox"})),
            R"(CREATE PUBLICATION "walpost" FOR TABLE "public"."outbox" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

TEST(PublicationTest, ListsItsTablesInOrder) {
  EXPECT_EQ(CreatePublicationSql("p", Tables({"s.b", "public.a"})),
            R"(CREATE PUBLICATION "p" FOR TABLE "s"."b", "public"."a" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

TEST(PublicationTest, ForMessagesAloneItHasNoTable) {
  EXPECT_EQ(CreatePublicationSql("p", {}),
            R"(CREATE PUBLICATION "p" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

TEST(PublicationTest, NamesCannotBreakOutOfTheirQuotes) {
  EXPECT_EQ(CreatePublicationSql(R"(p"q)", Tables({R"(s."; DROP)"})),
            R"(CREATE PUBLICATION "p""q" FOR TABLE "s"."""; DROP" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

}  // namespace
}  // namespace walpost
