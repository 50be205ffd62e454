#include "postgres/connect/quote.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

struct Row {
  const char* name;
  const char* sql;
};

TEST(QuoteTest, QuotesAnyName) {
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

TEST(QuoteTest, QuotesSchemaAndTableApart) {
  const Row rows[] = {
      {"public.outbox", R"("public"."outbox")"}, {"outbox", R"("outbox")"},
      {"Sales.Out Box", R"("Sales"."Out Box")"}, {"a.b.c", R"("a"."b.c")"},
      {R"(s"x.t"y)", R"("s""x"."t""y")"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(QuoteQualifiedName(row.name), row.sql);
  }
}

}  // namespace
}  // namespace walpost
