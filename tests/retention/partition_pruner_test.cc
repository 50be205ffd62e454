// A partition is dropped whole: one row that was not sent must keep it.
#include "retention/partition_pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCount[] = "SELECT count(*) FILTER";
constexpr char kSize[] = "pg_relation_size";
constexpr char kPages[] = "ctid >=";
constexpr char kWaiting[] = "NOT granted";

class PartitionPrunerTest : public ::testing::Test {
 protected:
  PartitionPrunerTest() {
    rule_.table = "outbox_2026_01_30";
    rule_.sent = "sent";
    server_.Answer(kCount, {{"10", "0", "0"}});
    server_.Answer(kSize, {{"1"}});
    server_.Answer(kPages, {{"f"}});
    server_.Answer(kWaiting, {{"f"}});
  }

  absl::Status Drop(SentProof proof = SentProof::kSlot) {
    pruner_ = std::make_unique<PartitionPruner>(*connection_, proof);
    return Await(context_, pruner_->Drop(rule_));
  }

  // It stays, and nothing is left open.
  void ExpectKept(const std::string& reason,
                  SentProof proof = SentProof::kSlot) {
    const absl::Status status = Drop(proof);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(reason));
    EXPECT_THAT(server_.StatementsWith("DROP"), IsEmpty());
    EXPECT_THAT(server_.StatementsWith("COMMIT"), IsEmpty());
    EXPECT_EQ(server_.StatementsWith("BEGIN").size(),
              server_.StatementsWith("ROLLBACK").size());
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  PruneRule rule_;
  std::unique_ptr<PartitionPruner> pruner_;
};

TEST_F(PartitionPrunerTest, P11LooksAgainUnderALockBeforeItDrops) {
  const absl::Status status = Drop();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(
      server_.statements(),
      ElementsAre(HasSubstr(kCount), "BEGIN",
                  "SET LOCAL lock_timeout = '100ms'",
                  "LOCK TABLE outbox_2026_01_30 IN SHARE MODE",
                  HasSubstr(kSize), HasSubstr(kPages), HasSubstr(kWaiting),
                  "DROP TABLE outbox_2026_01_30", "COMMIT"));
}

TEST_F(PartitionPrunerTest, P11ARowThatWasNotSentKeepsItWithoutALock) {
  server_.Answer(kCount, {{"9", "1", "0"}});
  ExpectKept("it holds rows that are not confirmed yet");
  EXPECT_THAT(server_.StatementsWith("LOCK"), IsEmpty());
  EXPECT_EQ(pruner_->kept(), 1u);
  EXPECT_EQ(pruner_->unproven(), 0u);
}

TEST_F(PartitionPrunerTest, P11RowsWithoutProofAreCounted) {
  server_.Answer(kCount, {{"0", "7", "5"}});
  ExpectKept("it holds 5 rows without proof");
  EXPECT_EQ(pruner_->kept(), 7u);
  EXPECT_EQ(pruner_->unproven(), 5u);
}

// Committed between the first look and the lock.
TEST_F(PartitionPrunerTest, P11ARowThatWasAddedMeanwhileKeepsIt) {
  server_.Answer(kPages, {{"t"}});
  ExpectKept("it holds rows that are not confirmed yet");
}

TEST_F(PartitionPrunerTest, P11EveryPageIsLookedAt) {
  server_.Answer(kSize, {{"10001"}});
  ASSERT_TRUE(Drop().ok());
  EXPECT_THAT(
      server_.StatementsWith(kPages),
      ElementsAre(HasSubstr("ctid >= '(0,0)' AND ctid < '(5000,0)'"),
                  HasSubstr("ctid >= '(5000,0)' AND ctid < '(10000,0)'"),
                  HasSubstr("ctid >= '(10000,0)' AND ctid < '(15000,0)'")));
}

TEST_F(PartitionPrunerTest, P11ARowOnTheLastPageKeepsIt) {
  server_.Answer(kSize, {{"5001"}});
  server_.AnswerInTurn(kPages, {{{"f"}}, {{"t"}}});
  ExpectKept("it holds rows that are not confirmed yet");
}

TEST_F(PartitionPrunerTest, GivesWayToAWriter) {
  server_.Answer(kWaiting, {{"t"}});
  ExpectKept("in use: somebody writes to it");
}

TEST_F(PartitionPrunerTest, ALockThatIsNotToBeHadIsNotWaitedFor) {
  server_.Fail("LOCK TABLE", "55P03", "canceling statement due to lock");
  ExpectKept("in use: it, or the outbox, is locked");
}

TEST_F(PartitionPrunerTest, P11WhatCannotBeLookedAtStays) {
  server_.Fail(kPages, "57P01", "terminating");
  EXPECT_FALSE(Drop().ok());
  server_.Fail(kSize, "57P01", "terminating");
  EXPECT_FALSE(Drop().ok());
  server_.Fail(kCount, "57P01", "terminating");
  EXPECT_FALSE(Drop().ok());
  EXPECT_THAT(server_.StatementsWith("DROP"), IsEmpty());
}

TEST_F(PartitionPrunerTest, AFailedDropIsNotCommitted) {
  server_.Fail("DROP TABLE", "2BP01", "other objects depend on it");
  EXPECT_FALSE(Drop().ok());
  EXPECT_THAT(server_.StatementsWith("COMMIT"), IsEmpty());
  EXPECT_THAT(server_.StatementsWith("ROLLBACK"), ElementsAre("ROLLBACK"));
}

TEST_F(PartitionPrunerTest, P11PublishedRowsAreLookedAtAgainAsWell) {
  constexpr char kUnsent[] =
      "SELECT EXISTS (SELECT FROM outbox_2026_01_30 o WHERE (sent) IS NOT "
      "TRUE)";
  server_.Answer(kUnsent, {{"t"}});
  ExpectKept("it holds rows that are not published", SentProof::kState);
  server_.Answer(kUnsent, {{"f"}});
  EXPECT_TRUE(Drop(SentProof::kState).ok());
}

TEST_F(PartitionPrunerTest, PartitionsAreMadeByTheTablesFunction) {
  OutboxShape shape;
  EXPECT_EQ(*Await(context_, AddPartitions(*connection_, shape, 7)), 0u);
  shape.add_partitions = "outbox_add_partitions";
  EXPECT_EQ(*Await(context_, AddPartitions(*connection_, shape, 0)), 0u);
  EXPECT_THAT(server_.statements(), IsEmpty());
  server_.Answer("SELECT outbox_add_partitions(7)", {{"2"}});
  EXPECT_EQ(*Await(context_, AddPartitions(*connection_, shape, 7)), 2u);
}

}  // namespace
}  // namespace walpost
