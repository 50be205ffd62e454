#include "verify/expectation_query.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const std::vector<ColumnType> kColumns = {{"id"},          {"aggregatetype"},
                                          {"aggregateid"}, {"payload"},
                                          {"hash", true},  {"it's \"odd\""}};

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

TEST(ExpectationQueryTest, FieldsAreColumnsByTheirUsualNames) {
  ExpectHas({}, "t",
            "SELECT \"id\"::text, '' || 't', \"aggregateid\"::text, "
            "\"payload\"::text, NULL::text, ");
  ExpectHas({}, "t", "FROM \"public\".\"outbox\"");
}

TEST(ExpectationQueryTest, FieldsAreWhatIsConfigured) {
  TableOptions table;
  table.columns.aggregate_id = {FieldSource::Kind::kConstant, "it's"};
  table.columns.payload = {FieldSource::Kind::kColumn, "hash"};
  ExpectHas(table, "t", "'it''s'::text, \"hash\", ");
  table.columns.payload = {FieldSource::Kind::kAbsent, ""};
  ExpectHas(table, "t", "'it''s'::text, NULL::text, ");
}

TEST(ExpectationQueryTest, ATopicIsAnExpression) {
  ExpectHas({}, "o.{aggregate_type}.x",
            "'' || 'o.' || \"aggregatetype\"::text || '.x'");
  ExpectHas({}, "{aggregate_type|lower|replace:_:-}",
            "replace(lower(\"aggregatetype\"::text), '_', '-')");
  ExpectHas({}, "{aggregate_type|lower|default:Other}",
            "coalesce(nullif(lower(\"aggregatetype\"::text), ''), 'Other')");
  ExpectHas({}, "{it's \"odd\"}", "\"it's \"\"odd\"\"\"::text");
  TableOptions table;
  table.columns.aggregate_type = {FieldSource::Kind::kConstant, "order"};
  ExpectHas(table, "{aggregate_type}", "'order'::text");
  table.topic = "its-own";
  ExpectHas(table, "t", "'its-own'");
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
