#include "postgres/catalog/publication.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace walpost {
namespace {

std::vector<TableOptions> Tables(const std::vector<std::string>& names) {
  std::vector<TableOptions> tables;
  for (const std::string& name : names) tables.emplace_back().name = name;
  return tables;
}

TEST(PublicationTest, PublishesTheInsertsOfItsTables) {
  EXPECT_EQ(CreatePublicationSql("walpost", Tables({"public.outbox"}), 170000),
            R"(CREATE PUBLICATION "walpost" FOR TABLE "public"."outbox" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

TEST(PublicationTest, SendsGeneratedColumnsIfTheServerCan) {
  EXPECT_EQ(CreatePublicationSql("p", Tables({"s.b"}), 180000),
            R"(CREATE PUBLICATION "p" FOR TABLE "s"."b" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true, )"
            R"(publish_generated_columns = stored);)");
}

TEST(PublicationTest, ListsItsTablesInOrder) {
  EXPECT_EQ(CreatePublicationSql("p", Tables({"s.b", "public.a"}), 170000),
            R"(CREATE PUBLICATION "p" FOR TABLE "s"."b", "public"."a" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

TEST(PublicationTest, ForMessagesAloneItHasNoTable) {
  EXPECT_EQ(CreatePublicationSql("p", {}, 170000),
            R"(CREATE PUBLICATION "p" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

TEST(PublicationTest, ForRecordsOfDebeziumItPublishesUpdatesToo) {
  std::vector<TableOptions> tables = Tables({"s.b"});
  tables[0].debezium = std::make_shared<const debezium::Options>();
  EXPECT_EQ(CreatePublicationSql("p", tables, 170000),
            R"(CREATE PUBLICATION "p" FOR TABLE "s"."b" WITH )"
            R"((publish = 'insert, update', )"
            R"(publish_via_partition_root = true);)");
}

TEST(PublicationTest, NamesCannotBreakOutOfTheirQuotes) {
  EXPECT_EQ(CreatePublicationSql(R"(p"q)", Tables({R"(s."; DROP)"}), 170000),
            R"(CREATE PUBLICATION "p""q" FOR TABLE "s"."""; DROP" WITH )"
            R"((publish = 'insert', publish_via_partition_root = true);)");
}

}  // namespace
}  // namespace walpost
