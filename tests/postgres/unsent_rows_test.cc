// A table that comes to a slot later: which of its rows nobody sends?
#include "postgres/slot/unsent_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "fmt/format.h"
#include "support/fake_postgres.h"
#include "support/message_bytes.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kEstimate[] = "sum(greatest(reltuples";
constexpr char kCount[] = ") counted";
constexpr char kPlace[] = "SELECT r.xmin, r.cmin";
constexpr char kMayPeek[] = "SELECT NOT active";
constexpr char kPeek[] = "peek_binary_changes";
constexpr char kColumns[] = "format_type(a.atttypid";
constexpr char kTypes[] = "SELECT u.oid";

std::string Hex(const std::string& bytes) {
  std::string text = "\\x";
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class UnsentRowsTest : public ::testing::Test {
 protected:
  UnsentRowsTest() {
    postgres_.slot = "orders";
    postgres_.publication = "outbox";
    outbox_.tables.resize(1);
    outbox_.tables[0].name = "app.new";
    server_.Answer(kEstimate, {{"700"}});
    server_.Answer(kPlace, {{"740", "3"}});
    server_.Answer(kMayPeek, {{"f"}});
    server_.AnswerInTurn(kCount, {{{"10"}}, {{"4"}}});
    server_.Answer("pg_current_wal_insert_lsn", {{"0/500"}});
    server_.Answer(kTypes, {});
    server_.Answer(kPeek, {});
  }

  absl::StatusOr<UnsentRows> Count() {
    const std::vector<std::vector<std::string>> references(2);
    return Await(context_, CountUnsentRows(*connection_, postgres_, outbox_,
                                           references, 0, Lsn(0x200)));
  }
  Finding Describe(const ExistingRows& rows, bool is_streaming = false) {
    return DescribeUnsentRows(rows, postgres_, is_streaming);
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  WalSourceOptions postgres_;
  OutboxOptions outbox_;
};

// While the slot is in use, nobody can look what it will send: the four rows
// that came when the publication had the table may come.
TEST_F(UnsentRowsTest, P9RowsFromBeforeThePublicationAreNotSent) {
  const auto unsent = Count();
  ASSERT_TRUE(unsent.ok()) << unsent.status();
  EXPECT_EQ(unsent->rows.table, "app.new");
  EXPECT_EQ(unsent->rows.estimate, 700u);
  EXPECT_EQ(unsent->rows.count, 6u);
  EXPECT_TRUE(unsent->was_published);
  const auto counts = server_.StatementsWith(kCount);
  ASSERT_THAT(counts, SizeIs(2));
  EXPECT_THAT(counts[0], HasSubstr("FROM \"app\".\"new\" WHERE true LIMIT"));
  EXPECT_THAT(counts[1], HasSubstr("xmin = '740'::xid AND cmin::text::bigint < "
                                   "3)) IS NOT TRUE"));
  EXPECT_THAT(server_.StatementsWith(kPeek), IsEmpty());
  EXPECT_THAT(server_.statements().back(), HasSubstr("ROLLBACK"));
}

TEST_F(UnsentRowsTest, P9WhatTheSlotNoLongerHasIsNotSent) {
  server_.Answer(kMayPeek, {{"t"}});
  const auto unsent = Count();
  ASSERT_TRUE(unsent.ok()) << unsent.status();
  EXPECT_EQ(unsent->rows.count, 10u) << "the slot has none of them";
  EXPECT_TRUE(unsent->was_published);
  EXPECT_THAT(server_.StatementsWith(kPeek).at(0),
              HasSubstr("'orders', '0/500'::pg_lsn"));
  EXPECT_THAT(server_.StatementsWith(kMayPeek).at(0),
              HasSubstr("<= 67108864 FROM"));
}

// The stream goes on at 0/200: a transaction that commits there is sent.
TEST_F(UnsentRowsTest, P9TheSlotSendsWhatCommitsFromWhereTheStreamGoesOn) {
  server_.Answer(kMayPeek, {{"t"}});
  server_.Answer(kColumns, {{"0", "id", "25", "text", "", ""}});
  FakePostgres::Rows rows = {
      {Hex(testing::RelationMessage(
          5, "app", "new", {{"id"}, {"aggregate_type"}, {"payload"}}))},
      {Hex(testing::RelationMessage(
          6, "app", "old", {{"id"}, {"aggregate_type"}, {"payload"}}))},
  };
  outbox_.tables.resize(2);
  outbox_.tables[1].name = "app.old";
  for (const uint64_t lsn : {0x1ff, 0x200, 0x210}) {
    rows.push_back({Hex(testing::BeginMessage(Lsn(lsn)))});
    for (const uint32_t relation : {5, 6}) {
      const std::string id = fmt::format("{:x}", lsn);
      rows.push_back({Hex(testing::InsertMessage(
          relation,
          {testing::Text(id), testing::Text("order"), testing::Text("v")}))});
    }
    rows.push_back({Hex(testing::CommitMessage(Lsn(lsn), Lsn(lsn + 8)))});
  }
  server_.Answer(kPeek, rows);
  server_.AnswerInTurn(kCount, {{{"10"}}, {{"4"}}, {{"2"}}});
  const auto unsent = Count();
  ASSERT_TRUE(unsent.ok()) << unsent.status();
  EXPECT_EQ(unsent->rows.count, 8u);
  EXPECT_TRUE(unsent->was_published);
  EXPECT_THAT(server_.StatementsWith(kCount).back(),
              HasSubstr("ANY (ARRAY['200', '210']::text[])"));
  server_.AnswerInTurn(kCount, {{{"10"}}, {{"4"}}, {{"4"}}});
  EXPECT_FALSE(Count()->was_published) << "all are still to come";
}

TEST_F(UnsentRowsTest, P9RowsThatAreAllFromBeforeWereNeverPublished) {
  server_.AnswerInTurn(kCount, {{{"10"}}, {{"0"}}});
  const auto unsent = Count();
  ASSERT_TRUE(unsent.ok()) << unsent.status();
  EXPECT_EQ(unsent->rows.count, 10u);
  EXPECT_FALSE(unsent->was_published);
  EXPECT_THAT(server_.StatementsWith(kMayPeek), IsEmpty());
}

TEST_F(UnsentRowsTest, P9OfAPublicationForAllTablesEachRowMayHaveBeenSent) {
  server_.Answer(kPlace, {});
  const auto unsent = Count();
  ASSERT_TRUE(unsent.ok()) << unsent.status();
  EXPECT_EQ(unsent->rows.count, 10u);
  EXPECT_TRUE(unsent->was_published);
  EXPECT_THAT(server_.StatementsWith(kCount), SizeIs(1));
}

TEST_F(UnsentRowsTest, MoreThanTheLimitStayMore) {
  server_.AnswerInTurn(kCount, {{{"100001"}}, {{"4"}}});
  EXPECT_EQ(Count()->rows.count, 100'001u);
  server_.AnswerInTurn(kCount, {{{"100000"}}, {{"4"}}});
  EXPECT_EQ(Count()->rows.count, 99'996u);
}

TEST_F(UnsentRowsTest, AnEmptyTableAsksNothingElse) {
  server_.Answer(kCount, {{"0"}});
  const auto unsent = Count();
  EXPECT_EQ(unsent->rows.count, 0u);
  EXPECT_FALSE(unsent->was_published);
  EXPECT_THAT(server_.StatementsWith(kCount), SizeIs(1));
}

TEST_F(UnsentRowsTest, P8AnErrorLeavesTheNumberUnknown) {
  for (const char* words : {kCount, kPlace, kMayPeek}) {
    server_.Answer(kPlace, {{"740", "3"}});
    server_.AnswerInTurn(kCount, {{{"10"}}, {{"4"}}});
    server_.Fail(words, "57014", "canceled");
    const auto unsent = Count();
    ASSERT_TRUE(unsent.ok()) << unsent.status();
    EXPECT_EQ(unsent->rows.count, std::nullopt) << words;
    EXPECT_THAT(unsent->rows.trouble, HasSubstr("canceled"));
    EXPECT_FALSE(unsent->rows.is_missing);
  }
  server_.Answer(kPlace, {{"740", "3"}});
  server_.Fail(kCount, "42P01", "does not exist");
  EXPECT_TRUE(Count()->rows.is_missing);
  EXPECT_EQ(Count()->rows.count, 0u);
  server_.Fail(kEstimate, "57014", "canceled");
  EXPECT_FALSE(Count().ok());
}

TEST_F(UnsentRowsTest, SaysWhatBecomesOfThem) {
  ExistingRows rows;
  rows.table = "app.new";
  rows.count = 3;
  Finding found = Describe(rows);
  EXPECT_EQ(found.id, FindingId("new_table_rows_unpublished"));
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.subject, "table app.new");
  EXPECT_THAT(found.text, HasSubstr("has 3 rows that slot orders does not "
                                    "send: they will not be published"));
  EXPECT_THAT(found.remedy, Not(HasSubstr("restart walpost soon")));
  EXPECT_THAT(Describe(rows, true).remedy, HasSubstr("restart walpost soon"));
  postgres_.initial_snapshot = true;
  found = Describe(rows);
  EXPECT_EQ(found.severity, Severity::kNote);
  EXPECT_EQ(found.id, FindingId("new_table_rows_in_snapshot"));
  EXPECT_THAT(found.text, HasSubstr("are published at the next start"));
  rows.count = 0;
  EXPECT_EQ(Describe(rows).severity, Severity::kOk);
  EXPECT_EQ(Describe(rows).id, FindingId("new_table_rows_none"));
  EXPECT_EQ(Describe(rows, true).severity, Severity::kNote);
  rows.count.reset();
  rows.trouble = "permission denied";
  found = Describe(rows);
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.id, FindingId("new_table_rows_unknown"));
  EXPECT_THAT(found.text, HasSubstr("permission denied"));
  EXPECT_THAT(found.remedy, HasSubstr("grant SELECT"));
}

}  // namespace
}  // namespace walpost
