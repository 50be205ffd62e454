#include "verify/expectation_query.h"

#include <gtest/gtest.h>

#include "fmt/format.h"
#include "outbox/base_types.h"

namespace walpost {
namespace {

ColumnType Plain(std::string name) {
  return {std::move(name), false, 25, true};
}

const std::vector<ColumnType> kColumns = {
    Plain("id"),      Plain("aggregatetype"), Plain("aggregateid"),
    Plain("payload"), {"hash", true},         Plain("it's \"odd\""),
    {"is_test"}};

absl::StatusOr<ExpectationQuery> Create(const TableOptions& table,
                                        const std::string& topic = "t",
                                        const std::string& sequence = "") {
  RouteOptions route;
  route.topic = topic;
  return ExpectationQuery::Create(table, route, kColumns, sequence,
                                  {ConfirmedBy::Kind::kSlot, "slot"});
}

// Whether the SQL that is made has this piece.
void ExpectHas(const TableOptions& table, const std::string& topic,
               const std::string& piece) {
  const auto query = Create(table, topic);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_NE(query->sql().find(piece), std::string::npos) << query->sql();
}

constexpr char kText[] = "::text COLLATE \"C\"";

TEST(ExpectationQueryTest, FieldsAreColumnsByTheirUsualNames) {
  ExpectHas({}, "t",
            fmt::format("SELECT \"id\"{0}, \"aggregateid\"{0}, "
                        "\"payload\"{0}, NULL::text, ",
                        kText));
  ExpectHas({}, "t", "FROM \"public\".\"outbox\"");
}

TEST(ExpectationQueryTest, TopicsFollowTheRuleOfTheSink) {
  RouteOptions route;
  route.topic = "\\{shop\\}.a:b";
  const auto create = [&route] {
    return ExpectationQuery::Create({}, route, kColumns, "",
                                    {ConfirmedBy::Kind::kSlot, "slot"});
  };
  EXPECT_FALSE(create().ok());
  route.names = NameRule::kOthers;
  const auto query = create();
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->topic().prefix(), "{shop}.a:b");
}

TEST(ExpectationQueryTest, FieldsAreWhatIsConfigured) {
  TableOptions table;
  table.columns.aggregate_id = {FieldSource::Kind::kConstant, "it's"};
  table.columns.payload = {FieldSource::Kind::kColumn, "hash"};
  ExpectHas(table, "t", "'it''s'::text, \"hash\", ");
  table.columns.payload = {FieldSource::Kind::kAbsent, ""};
  ExpectHas(table, "t", "'it''s'::text, NULL::text, ");
}

TEST(ExpectationQueryTest, ACastIsNotTheOutputOfEachType) {
  TableOptions table;
  table.columns.aggregate_id = {FieldSource::Kind::kColumn, "is_test"};
  ExpectHas(table, "t", ", " + OutputTextSql("\"is_test\"") + ", ");
}

TEST(ExpectationQueryTest, TheValuesOfATopicComeLast) {
  ExpectHas({}, "o.{aggregate_type|lower}.{it's \"odd\"}",
            fmt::format(", \"aggregatetype\"{0}, \"it's \"\"odd\"\"\"{0} "
                        "FROM ",
                        kText));
  TableOptions table;
  table.columns.aggregate_type = {FieldSource::Kind::kConstant, "order"};
  ExpectHas(table, "{aggregate_type}", "'order'::text FROM");
  table.topic = "its-own";
  EXPECT_EQ(Create(table)->topic().text(), "its-own");
}

TEST(ExpectationQueryTest, TheOriginIsAskedForIfItMatters) {
  ExpectHas({}, "t", ", (false)::text FROM ");
  const auto query = ExpectationQuery::Create(
      {}, {}, kColumns, "", {ConfirmedBy::Kind::kSlot, "slot"},
      OriginFilter::kNone);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_NE(query->sql().find("pg_xact_commit_timestamp_origin(xmin)"),
            std::string::npos);
}

TEST(ExpectationQueryTest, AnIdOfBytesIsLookedUpAsBytes) {
  TableOptions table;
  EXPECT_FALSE(Create(table)->has_bytea_ids());
  table.columns.id = {FieldSource::Kind::kColumn, "hash"};
  EXPECT_TRUE(Create(table)->has_bytea_ids());
}

TEST(ExpectationQueryTest, AValueOfSeveralColumnsIsNotCompared) {
  TableOptions table;
  EXPECT_TRUE(Create(table)->knows_value());
  table.value_columns = {"id"};
  EXPECT_FALSE(Create(table)->knows_value());
}

TEST(ExpectationQueryTest, NamesWhatTheTableDoesNotHave) {
  struct Row {
    TableOptions table;
    std::string topic;
    std::string sequence;
    std::string named;
  };
  TableOptions no_id;
  no_id.columns.id = {FieldSource::Kind::kAbsent, ""};
  TableOptions wrong_key;
  wrong_key.columns.aggregate_id = {FieldSource::Kind::kColumn, "kee"};
  for (const Row& row :
       {Row{no_id, "t", "", "outbox.tables.columns.id"},
        Row{wrong_key, "t", "", "'kee'"}, Row{{}, "{region}", "", "'region'"},
        Row{{}, "t", "version", "'version'"}}) {
    const auto query = Create(row.table, row.topic, row.sequence);
    EXPECT_TRUE(absl::IsInvalidArgument(query.status())) << query.status();
    EXPECT_NE(std::string(query.status().message()).find(row.named),
              std::string::npos)
        << query.status();
  }
}

}  // namespace
}  // namespace walpost
