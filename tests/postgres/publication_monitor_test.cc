// The catalog beside a stream: which tables are new, what was lost from the
// publication, and when it is looked at.
#include "postgres/catalog/publication_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "delivery/gap.h"
#include "postgres/catalog/read_base_types.h"
#include "support/each_statement.h"
#include "support/fake_postgres.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using namespace testing::wal_source;  // the words of the statements

constexpr char kMatching[] = "NOT c.relispartition";
constexpr char kRelations[] = "CASE WHEN c.relkind = 'r'";
constexpr char kPublished[] = "attnames, rowfilter";
constexpr char kColumns[] = "format_type(a.atttypid";
const std::optional<std::string> kNull;

class PublicationMonitorTest : public ::testing::Test {
 protected:
  PublicationMonitorTest() {
    options_.publication = "outbox";
    outbox_.tables.resize(1);
    outbox_.tables[0].name = "app.outbox";
    outbox_.patterns.resize(1);
    outbox_.patterns[0].name = "app.outbox_*";
    server_.Answer(kMatching, {});
    server_.Answer(kPublication, {{"t", "t", "insert", "f"}});
    server_.Answer(kColumns, {{"0", "id", "20", "bigint", "", kNull},
                              {"0", "aggregate_type", "25", "text", "", kNull},
                              {"0", "aggregate_id", "25", "text", "", kNull},
                              {"0", "payload", "25", "text", "", kNull}});
    server_.Answer(kPublished, {{"app.outbox", kNull, kNull},
                                {"app.outbox_a", kNull, kNull}});
    server_.Answer(kRelations, {Relation("app.outbox")});
    SetCoverage("16388:690");
    SetDigest("1");
    routes_ = *Route::CreateAll(outbox_);
    monitor_.emplace(options_, outbox_, routes_);
  }

  static FakePostgres::Row Relation(const std::string& name,
                                    const std::string& kind = "r") {
    return {"0", kind, kNull, kNull, "f", name};
  }
  static FakePostgres::Row Match(const std::string& name, bool is_published,
                                 bool has_dot = false) {
    return {name, is_published ? "t" : "f", has_dot ? "t" : "f",
            "\"" + name + "\""};
  }
  void SetCoverage(const std::string& publication) {
    server_.Answer(kCoverage, {{publication, "app.outbox", "16394.r1:5"}});
    SetDigest(publication);
  }
  // It has the words of the other statements, too, and is answered last.
  void SetDigest(const std::string& digest) {
    server_.Answer(kDigest, {{digest}});
  }
  absl::Status Look() { return Await(context_, monitor_->Look(*connection_)); }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  WalSourceOptions options_;
  OutboxOptions outbox_;
  std::vector<Route> routes_;
  std::optional<PublicationMonitor> monitor_;
};

TEST_F(PublicationMonitorTest, ColumnsThatWereAlteredAreOthers) {
  outbox_.debezium = std::make_shared<const debezium::Options>();
  monitor_.emplace(options_, outbox_, routes_);
  server_.Answer("SELECT u.oid", {});
  const auto read = Await(context_, ReadBaseTypes(*connection_, outbox_));
  ASSERT_TRUE(read.ok()) << read.status();
  monitor_->SetColumns(*read);
  ASSERT_TRUE(Look().ok());
  EXPECT_FALSE(monitor_->TakeOtherColumns());
  server_.Answer(kColumns, {{"0", "id", "20", "bigint", "", "7"},
                            {"0", "aggregate_type", "25", "text", "", kNull},
                            {"0", "aggregate_id", "25", "text", "", kNull},
                            {"0", "payload", "25", "text", "", kNull}});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(monitor_->TakeOtherColumns());
  EXPECT_FALSE(monitor_->TakeOtherColumns()) << "it is said once";
  monitor_->SetColumns(*Await(context_, ReadBaseTypes(*connection_, outbox_)));
  EXPECT_FALSE(monitor_->TakeOtherColumns());
  ASSERT_TRUE(Look().ok());
  EXPECT_FALSE(monitor_->TakeOtherColumns());
}

// Two that match: the publication has the first one alone.
TEST_F(PublicationMonitorTest, P9ATableIsNewIfThePublicationHasIt) {
  server_.Answer(kMatching,
                 {Match("app.outbox_a", true), Match("app.outbox_b", false),
                  Match("app.outbox_c", false)});
  server_.AnswerInTurn(kRelations, {{Relation("app.outbox_a")},
                                    {Relation("app.outbox_b")},
                                    {Relation("app.outbox")}});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->new_tables(), ElementsAre("app.outbox_a"));
  EXPECT_EQ(monitor_->new_table_trouble(),
            "a table that is new by app.outbox_* in outbox.tables cannot be "
            "published: table app.outbox_b is not in publication outbox: its "
            "rows are not sent; ALTER PUBLICATION \"outbox\" ADD TABLE "
            "\"app\".\"outbox_b\";");
  EXPECT_EQ(monitor_->trouble(), "");
  const auto asked = server_.StatementsWith(kRelations);
  for (const std::string& sql : asked) {
    if (sql.find(kDigest) != std::string::npos) continue;
    EXPECT_THAT(sql, Not(HasSubstr("outbox_c"))) << "one of them is named";
  }
  // Nothing has changed: nobody looks again.
  const size_t before = server_.StatementsWith(kPublication).size();
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(server_.StatementsWith(kPublication).size(), before);
  EXPECT_THAT(monitor_->new_tables(), ElementsAre("app.outbox_a"));
  // They are gone, and so is the trouble.
  server_.Answer(kMatching, {});
  SetDigest("3");
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->new_tables(), IsEmpty());
  EXPECT_EQ(monitor_->new_table_trouble(), "");
}

TEST_F(PublicationMonitorTest, P9APublishedTableThatDoesNotFitIsNotTakenUp) {
  server_.Answer(kMatching,
                 {Match("app.outbox_a", true), Match("app.outbox_b", false)});
  server_.AnswerInTurn(kRelations, {{Relation("app.outbox_a", "v")},
                                    {Relation("app.outbox_b")},
                                    {Relation("app.outbox")}});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->new_tables(), IsEmpty());
  EXPECT_THAT(monitor_->new_table_trouble(),
              HasSubstr("table app.outbox_a is not a table"));
}

TEST_F(PublicationMonitorTest, ATableThatMatchesTwicePublishesNoOther) {
  outbox_.patterns.resize(2);
  outbox_.patterns[1].name = "app.*_a";
  monitor_.emplace(options_, outbox_, routes_);
  server_.Answer(kMatching, {Match("app.outbox_a", true)});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->new_tables(), IsEmpty());
  EXPECT_THAT(monitor_->new_table_trouble(), HasSubstr("app.*_a"));
}

TEST_F(PublicationMonitorTest, ANameThatCannotBeWrittenIsATrouble) {
  server_.Answer(kMatching, {Match("app.outbox_a", true)});
  server_.Answer(kRelations, {Relation("app.outbox_a")});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->new_tables(), ElementsAre("app.outbox_a"));
  server_.Answer(kMatching, {Match("a.b.outbox_a", true, true)});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->new_tables(), IsEmpty());
  EXPECT_THAT(monitor_->new_table_trouble(), HasSubstr("has a dot"));
  EXPECT_THAT(monitor_->new_table_trouble(), HasSubstr("\"a.b.outbox_a\""));
}

TEST_F(PublicationMonitorTest, AsksForEachPatternWithoutTheListedTables) {
  outbox_.patterns.resize(2);
  outbox_.patterns[1].name = "b_%.x*y";
  monitor_.emplace(options_, outbox_, routes_);
  ASSERT_TRUE(Look().ok());
  const std::string sql = server_.StatementsWith(kMatching).back();
  EXPECT_THAT(sql, HasSubstr("(n.nspname LIKE 'app' AND c.relname LIKE "));
  EXPECT_THAT(sql, HasSubstr(") OR (n.nspname LIKE "));
  EXPECT_THAT(sql, HasSubstr("pubname = 'outbox'"));
  EXPECT_THAT(sql, HasSubstr("ARRAY['app.outbox']::text[]"));
}

TEST_F(PublicationMonitorTest, P9AnotherDefinitionIsAGap) {
  monitor_->SetCoverage("16388:690,app.outbox=16394.r1:5");
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(monitor_->gap(), std::nullopt);
  SetCoverage("16389:691");
  ASSERT_TRUE(Look().ok());
  ASSERT_TRUE(monitor_->gap().has_value());
  EXPECT_EQ(monitor_->gap()->code, kGapCoverageChanged);
  EXPECT_THAT(monitor_->gap()->text, HasSubstr("publication outbox: "));
  EXPECT_THAT(monitor_->gap()->text, HasSubstr("while walpost was streaming"));
  EXPECT_THAT(monitor_->gap()->text,
              HasSubstr("did not cover meanwhile. Run walpost verify -c FILE"));
  // It stays while the definition does, and is judged again with another.
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(monitor_->gap().has_value());
  monitor_->SetCoverage("16389:691,app.outbox=16394.r1:5");
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(monitor_->gap(), std::nullopt);
}

TEST_F(PublicationMonitorTest, P9TheGapNamesTheTroubleOfNow) {
  monitor_->SetCoverage("16388:690,app.outbox=16394.r1:5");
  server_.AnswerInTurn(
      kPublication, {{{"t", "t", "insert", "f"}}, {{"f", "t", "update", "f"}}});
  SetCoverage("16389:691");
  ASSERT_TRUE(Look().ok());
  ASSERT_TRUE(monitor_->gap().has_value());
  EXPECT_THAT(
      monitor_->gap()->text,
      HasSubstr(
          "meanwhile. It was found with: publication outbox does not publish "
          "inserts (rows that are committed meanwhile are never "
          "sent); ALTER PUBLICATION"));
  EXPECT_THAT(monitor_->gap()->text, HasSubstr("');. Run walpost verify"));
}

TEST_F(PublicationMonitorTest, P8AnErrorCountsFromTheFirstLookOn) {
  server_.Answer(kPublication, {});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(monitor_->is_error());
  EXPECT_THAT(monitor_->trouble(),
              HasSubstr("publication outbox does not exist (rows that "));
  monitor_->SetReference({});
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->trouble(), HasSubstr("it was in order before"));
  server_.Answer(kPublication, {{"t", "t", "insert", "f"}});
  SetDigest("3");
  ASSERT_TRUE(Look().ok());
  EXPECT_FALSE(monitor_->is_error());
  EXPECT_EQ(monitor_->trouble(), "");
}

TEST_F(PublicationMonitorTest, AWarningCountsIfItIsNew) {
  const FakePostgres::Rows filtered = {{"app.outbox", kNull, "(id > 0)"}};
  server_.Answer(kPublished, filtered);
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(monitor_->trouble(), "") << "there is no reference yet";
  const Finding known{Severity::kWarning, FindingId("table_row_filter"),
                      "table app.outbox",
                      "has a row filter in the publication ((id > 0)): rows "
                      "that do not pass it are never sent",
                      ""};
  monitor_->SetReference({known});
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(monitor_->trouble(), "");
  server_.Answer(kPublished, {{"app.outbox", kNull, "(id > 7)"}});
  SetDigest("3");
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(monitor_->trouble(), HasSubstr("(id > 7)"));
  EXPECT_FALSE(monitor_->is_error());
  monitor_->SetReference({});  // the first one holds
  server_.Answer(kPublished, filtered);
  SetDigest("4");
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(monitor_->trouble(), "");
}

TEST_F(PublicationMonitorTest, P9ALookThatFailedIsMadeAgain) {
  server_.Fail(kPublication, "57014", "canceled");
  SetDigest("2");
  EXPECT_FALSE(Look().ok());
  server_.Answer(kPublication, {});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(monitor_->is_error());
}

TEST_F(PublicationMonitorTest, P9AfterTheReferenceNothingIsMade) {
  options_.create = true;
  monitor_.emplace(options_, outbox_, routes_);
  server_.Answer(kPublication, {});
  server_.Answer(kRelations, {Relation("app.outbox")});
  SetDigest("2");
  ASSERT_TRUE(Look().ok());
  EXPECT_FALSE(monitor_->is_error()) << monitor_->trouble();
  monitor_->SetReference({});
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(monitor_->is_error());
}

// Its answer would be taken for that of all that was asked.
TEST_F(PublicationMonitorTest, P9NoErrorOfAStatementIsAnAnswer) {
  outbox_.debezium = std::make_shared<const debezium::Options>();
  server_.Answer("SELECT u.oid", {});
  const auto look = [this] {
    server_.Answer(kMatching, {Match("app.outbox_a", true)});
    server_.AnswerInTurn(
        kRelations, {{Relation("app.outbox_a")}, {Relation("app.outbox")}});
    SetDigest("2");
    monitor_.emplace(options_, outbox_, routes_);
    monitor_->SetColumns(BaseTypes());
    return Look();
  };
  EXPECT_THAT(testing::UnreportedFailures(server_, look), IsEmpty());
}

}  // namespace
}  // namespace walpost
