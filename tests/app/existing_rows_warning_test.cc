// Rows that are older than the slot: which are counted, and what is said.
#include "app/live/existing_rows_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "support/fake_postgres.h"
#include "support/finding_text.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using namespace testing::wal_source;  // the words of the statements

constexpr char kEstimate[] = "sum(greatest(reltuples";
constexpr char kCount[] = ") existing";
constexpr char kUnsent[] = ") counted";

class ExistingRowsWarningTest : public ::testing::Test {
 protected:
  ExistingRowsWarningTest() {
    config_.postgres.server = server_.options();
    config_.postgres.slot = "orders";
    config_.postgres.publication = "outbox";
    config_.outbox.tables.resize(1);
    config_.outbox.tables[0].name = "app.one";
    testing::AnswerWalSource(server_);
    server_.Answer(kCoverage, {{"16388:690", "app.one", "1.r1:5"}});
    server_.Answer(kEstimate, {{"700"}});
    server_.Answer(kCount, {{"3"}});
    server_.Answer("SELECT r.xmin, r.cmin", {});
    server_.Answer("SELECT NOT active", {{"f"}});
    server_.Answer(kUnsent, {{"4"}});
    SetBirth("16388:690,app.one=1.r1:5,*=passed");
  }

  void SetBirth(const std::string& coverage) {
    BirthRecord record;
    record.slot = "orders";
    record.consistent_point = Lsn(0x150);
    record.system_identifier = "77";
    record.timeline = 3;
    record.coverage = coverage;
    record.added.emplace();
    server_.Answer(kComments, {{WithBirthRecord("", record)}});
  }
  std::vector<std::string> Find(AskStore ask_store = AskStore::kYes,
                                ReportNew report_new = ReportNew::kYes) {
    const auto found =
        Await(context_, FindExistingRows(context_.get_executor(), config_,
                                         ask_store, report_new));
    EXPECT_TRUE(found.ok()) << found.status();
    return testing::TextsOf(found.value_or(Findings()));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  Config config_;
};

TEST_F(ExistingRowsWarningTest, EachHistoryHasItsWords) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  EXPECT_THAT(Find(), ElementsAre(StartsWith(
                          "warning existing_rows_unpublished table app.one: "
                          "has 3 rows that are older "
                          "than slot orders: they will not be published "
                          "(snapshot: never) -> set snapshot: initial")));
  server_.Answer(kComments, {{""}});
  EXPECT_THAT(Find(), ElementsAre(StartsWith(
                          "warning existing_rows_unpublished table app.one: "
                          "has 3 rows: those that were "
                          "committed before slot orders was made will not")));
  server_.Answer(kSlot, {});
  EXPECT_THAT(Find(),
              ElementsAre(StartsWith("warning existing_rows_unpublished table "
                                     "app.one: has 3 rows, and slot orders "
                                     "is not made yet: they will not")));
  config_.postgres.initial_snapshot = true;
  EXPECT_THAT(
      Find(),
      ElementsAre(
          "note existing_rows_in_snapshot table app.one: has 3 rows, and slot "
          "orders is not made yet: they will be "
          "published at the first start (snapshot: "
          "initial)"));
  server_.Answer(kCount, {{"0"}});
  EXPECT_THAT(
      Find(),
      ElementsAre("ok existing_rows_none table app.one: has no rows that are "
                  "older than slot orders"));
}

TEST_F(ExistingRowsWarningTest, OneRowIsInTheSingular) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  server_.Answer(kCount, {{"1"}});
  EXPECT_THAT(Find(), ElementsAre(HasSubstr(
                          "has 1 row that is older than slot orders: it will "
                          "not be published")));
}

TEST_F(ExistingRowsWarningTest, AfterTheFirstStreamNothingIsCounted) {
  server_.Answer(kSlot, testing::SlotAt("0/151"));
  EXPECT_THAT(Find(), IsEmpty());
  SetBirth("16388:690,app.one=1.r1:5,*=passed");
  server_.Answer(kSlot, {});
  EXPECT_THAT(Find(), IsEmpty()) << "it is missing: a gap";
  EXPECT_THAT(server_.StatementsWith(kCount), IsEmpty());
}

TEST_F(ExistingRowsWarningTest, ATableThatCannotBeReadIsNamedWithTheGrant) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  server_.Fail(kCount, "42501", "permission denied");
  EXPECT_THAT(Find(),
              ElementsAre(AllOf(
                  StartsWith("note existing_rows_unknown table app.one: cannot "
                             "be read by role relay"),
                  HasSubstr("GRANT USAGE ON SCHEMA \"app\" TO \"relay\"; GRANT "
                            "SELECT ON \"app\".\"one\" TO \"relay\";"))));
}

// The slot is streamed from; one table has come later.
TEST_F(ExistingRowsWarningTest, P9RowsOfANewTableAreCountedApart) {
  config_.outbox.tables.resize(2);
  config_.outbox.tables[1].name = "app.two";
  server_.Answer(kCoverage, {{"16388:690", "app.one", "1.r1:5"},
                             {"16388:690", "app.two", "2.r2:6"}});
  EXPECT_THAT(Find(), ElementsAre(StartsWith(
                          "warning new_table_rows_unpublished table app.two: "
                          "is new in outbox.tables, and has 4 rows")));
  EXPECT_THAT(Find(AskStore::kYes, ReportNew::kNo), IsEmpty());
  EXPECT_THAT(Find(AskStore::kNo),
              ElementsAre(StartsWith(
                  "warning new_table_rows_unpublished table app.two: is new in "
                  "outbox.tables, and has 4 rows")));
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  EXPECT_THAT(
      Find(),
      ElementsAre(
          StartsWith("warning new_table_rows_unpublished table app.two: is new "
                     "in outbox.tables, and has 4"),
          StartsWith(
              "warning existing_rows_unpublished table app.one: has 3")));
  EXPECT_THAT(Find(AskStore::kYes, ReportNew::kNo),
              ElementsAre(StartsWith(
                  "warning existing_rows_unpublished table app.one: has 3")));
  server_.Fail(kUnsent, "42P01", "does not exist");
  EXPECT_THAT(Find(),
              ElementsAre(StartsWith(
                  "warning existing_rows_unpublished table app.one: has 3")));
}

TEST_F(ExistingRowsWarningTest, P8ALookThatFailedIsMadeAgain) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  EXPECT_TRUE(
      Await(context_, WarnOfExistingRows(context_.get_executor(), config_)));
  server_.Fail(kSystem, "42501", "permission denied");
  server_.Fail("SELECT system_identifier, current_user", "42501", "denied");
  EXPECT_TRUE(
      Await(context_, WarnOfExistingRows(context_.get_executor(), config_)))
      << "asking again would not help";
  server_.Drop("SELECT system_identifier, current_user");
  EXPECT_FALSE(
      Await(context_, WarnOfExistingRows(context_.get_executor(), config_)));
}

}  // namespace
}  // namespace walpost
