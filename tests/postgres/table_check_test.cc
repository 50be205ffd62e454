#include "postgres/catalog/table_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "pgoutput/type_oid.h"

namespace walpost {
namespace {

// A table that is fit; each case spoils something.
struct Case {
  std::string name;
  std::function<void(TableFacts&, TableQuestion&)> spoil;
  Severity severity;
  std::string id;
  std::string subject;
  std::string text;  // a part
  std::string remedy;
};

TableFacts FitTable() {
  TableFacts facts;
  facts.kind = "r";
  facts.is_published = true;
  facts.published.publication = "walpost";
  for (const char* name : {"id", "aggregate_type", "aggregate_id", "payload"}) {
    TableColumn& column = facts.columns.emplace_back();
    column.schema = {name, pgoutput::kTextOid};
    column.type = "text";
  }
  return facts;
}

Findings Check(const std::function<void(TableFacts&, TableQuestion&)>& spoil) {
  TableOptions table;
  table.name = "public.outbox";
  table.order_by = "payload";
  table.columns.type.kind = FieldSource::Kind::kAbsent;
  const std::vector<std::string> references;
  TableFacts facts = FitTable();
  TableQuestion question{.table = table,
                         .references = references,
                         .partition = "",
                         .facts = facts,
                         .publication = "walpost",
                         .publication_exists = true,
                         .published_via_root = true,
                         .server_version = 170000,
                         .similar = "",
                         .is_unsortable = false};
  spoil(facts, question);
  return CheckTable(question);
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"Missing", [](auto& facts, auto&) { facts = TableFacts(); },
       Severity::kError, "table_missing", "table public.outbox",
       "does not exist",
       "correct outbox.tables (schema.table), or create it with walpost init "
       "-c FILE --admin CONNINFO"},
      {"Mistyped",
       [](auto& facts, auto& question) {
         facts = TableFacts();
         question.similar = "public.outboxes";
       },
       Severity::kError, "table_missing", "table public.outbox",
       "does not exist", "did you mean public.outboxes? Correct outbox.tables"},
      {"View", [](auto& facts, auto&) { facts.kind = "v"; }, Severity::kError,
       "relation_not_a_table", "table public.outbox", "is not a table",
       "name the table itself in outbox.tables"},
      {"UnloggedLeaf", [](auto& facts, auto&) { facts.unlogged = "leaf"; },
       Severity::kError, "table_unlogged", "table leaf",
       "is unlogged or temporary", "ALTER TABLE leaf SET LOGGED;"},
      {"Child", [](auto& facts, auto&) { facts.child = "public.child"; },
       Severity::kError, "table_has_child", "table public.outbox",
       "has a child table public.child (INHERITS)",
       "ALTER TABLE public.child NO INHERIT public.outbox; or list "
       "public.child in outbox.tables"},
      {"ForeignLeaf",
       [](auto& facts, auto&) {
         facts.foreign.push_back({"s.cold", "s.p"});
       },
       Severity::kWarning, "partition_foreign", "table s.cold",
       "is a partition of public.outbox and a foreign table",
       "if rows may still come for it: ALTER TABLE s.p DETACH PARTITION "
       "s.cold;"},
      {"PartitionThatIsNoNumber",
       [](auto&, auto& question) { question.partition = "payload"; },
       Severity::kError, "partition_column_not_integer", "table public.outbox",
       "column payload, which route.partition names",
       R"(ALTER TABLE "public"."outbox" ALTER COLUMN "payload" TYPE integer )"
       R"(USING "payload"::text::integer;)"},
      {"PartitionsByTheirNames",
       [](auto& facts, auto& question) {
         facts.kind = "p";
         question.published_via_root = false;
       },
       Severity::kError, "publish_via_partition_root_off",
       "table public.outbox", "its rows come under the partitions' names",
       R"(ALTER PUBLICATION "walpost" SET (publish_via_partition_root = )"
       "true);"},
      {"Unpublished", [](auto& facts, auto&) { facts.is_published = false; },
       Severity::kError, "table_not_published", "table public.outbox",
       "is not in publication walpost: its rows are not sent",
       R"(ALTER PUBLICATION "walpost" ADD TABLE "public"."outbox";)"},
      {"RowFilter",
       [](auto& facts, auto&) { facts.published.filter = "(id > 0)"; },
       Severity::kWarning, "table_row_filter", "table public.outbox",
       "has a row filter in the publication ((id > 0))",
       "publish the whole table"},
      {"ColumnList",
       [](auto& facts, auto&) {
         facts.published.has_list = true;
         facts.published.names = {"id", "aggregate_type", "aggregate_id"};
       },
       Severity::kError, "table_unsuitable", "table public.outbox:",
       "is not in the column list of publication \"walpost\"", ""},
      {"NoKey",
       [](auto& facts, auto&) {
         facts.columns.erase(facts.columns.begin() + 2);
       },
       Severity::kWarning, "aggregate_id_unmapped", "table public.outbox",
       "has no aggregate_id", "map outbox.tables.columns.aggregate_id"},
      {"Unsortable",
       [](auto&, auto& question) { question.is_unsortable = true; },
       Severity::kError, "order_by_unsortable", "table public.outbox",
       "column payload, which order_by names, has a type that Postgres cannot "
       "sort by",
       R"(ALTER TABLE "public"."outbox" ADD COLUMN seq bigserial; and set )"
       "order_by: seq"},
  };
  return cases;
}

TEST(TableCheckTest, AFitTableIsFine) {
  const Findings findings = Check([](auto&, auto&) {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kOk) << findings[0].text;
  EXPECT_EQ(findings[0].id, FindingId("table_ok"));
  EXPECT_EQ(findings[0].text, "is published, and its columns fit");
}

TEST(TableCheckTest, NamesWhatIsWrong) {
  for (const Case& wrong : Cases()) {
    SCOPED_TRACE(wrong.name);
    bool is_named = false;
    std::string found;
    for (const Finding& finding : Check(wrong.spoil)) {
      found += finding.subject + " " + finding.text + "; " + finding.remedy;
      is_named |= finding.severity == wrong.severity &&
                  finding.id.text() == wrong.id &&
                  finding.subject == wrong.subject &&
                  finding.text.find(wrong.text) != std::string::npos &&
                  finding.remedy == wrong.remedy;
    }
    EXPECT_TRUE(is_named) << found;
  }
}

TEST(TableCheckTest, BeforeThereIsAPublicationOnlyTheTableCounts) {
  const Findings findings = Check([](auto& facts, auto& question) {
    facts.is_published = false;
    question.publication_exists = false;
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].text, "has columns that fit");
}

TEST(TableColumnsTest, ReadsNamesAsTheServerWritesThem) {
  const std::vector<std::string> none;
  EXPECT_EQ(ParseNames("{}"), none);
  const std::vector<std::string> plain = {"id", "payload"};
  EXPECT_EQ(ParseNames("{id,payload}"), plain);
  const std::vector<std::string> odd = {"a,b", R"(q"uote)", R"(back\slash)",
                                        "{x}", "NULL",      " s"};
  EXPECT_EQ(ParseNames(R"({"a,b","q\"uote","back\\slash","{x}","NULL"," s"})"),
            odd);
}

}  // namespace
}  // namespace walpost
