#include "parking/stored_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemorySink;
using Do = StoredBatch::Do;

OutboxOptions Outbox() {
  OutboxOptions options;
  options.tables.resize(1);
  options.tables[0].name = "public.outbox";
  options.route.topic = "t.{aggregate_type}";
  return options;
}

ParkedRow Row(ParkedNumber number, std::string key,
              std::string type = "order") {
  ParkedRow row;
  row.number = number;
  row.content.source = "public.outbox";
  row.content.id = std::to_string(number);
  row.content.aggregate_id = std::move(key);
  row.content.aggregate_type = std::move(type);
  row.content.payload = "v";
  return row;
}

// Some topics take nothing now.
class TopicsSink final : public RecordSink {
 public:
  explicit TopicsSink(MemorySink& sink) : sink_(sink) {}
  absl::Status Produce(const Record& record, Sequence sequence) override {
    if (record.topic == missing) return absl::UnavailableError("no such topic");
    return sink_.Produce(record, sequence);
  }

  std::string missing;

 private:
  MemorySink& sink_;
};

class StoredBatchTest : public ::testing::Test {
 protected:
  explicit StoredBatchTest(StoredBatch::Options options = {})
      : batch_(outbox_, sender_, options) {
    sender_.SetSink(&sink_);
  }

  Do Next(seconds at = seconds(0)) {
    return batch_.Next(MonotonicTime(at), /*brokers_answer=*/true);
  }
  void Begin(std::vector<ParkedRow> rows) {
    batch_.Begin(std::move(rows), MonotonicTime());
  }
  // All that the sink has accepted since.
  void Acknowledge() {
    for (; reported_ < kafka_.accepted().size(); ++reported_) {
      sender_.OnAcknowledged(kafka_.accepted()[reported_].sequence, WallTime());
    }
  }
  StoredBatch::Result Result(seconds at = seconds(0)) {
    return batch_.TakeResult(MonotonicTime(at), /*brokers_answer=*/true);
  }
  void ReplaceSink() {
    EXPECT_TRUE(batch_.must_replace_sink());
    batch_.StartOver();
    reported_ = kafka_.accepted().size();
  }

  OutboxOptions outbox_ = Outbox();
  Sender sender_{RecordBuilder::Create(outbox_).value(), {}};
  MemorySink kafka_;
  TopicsSink sink_{kafka_};
  StoredBatch batch_;
  size_t reported_ = 0;
};

std::vector<size_t> FailedRows(const StoredBatch::Result& result) {
  std::vector<size_t> rows;
  for (const StoredBatch::Failure& failure : result.failed) {
    rows.push_back(failure.row);
  }
  return rows;
}

TEST_F(StoredBatchTest, P1SentIsWhatTheBrokersHaveAcknowledged) {
  Begin({Row(1, "a"), Row(2, "b")});
  EXPECT_EQ(Next(), Do::kWait);
  EXPECT_EQ(kafka_.accepted().size(), 2u);
  sender_.OnAcknowledged(kafka_.accepted()[1].sequence, WallTime());
  EXPECT_EQ(Next(), Do::kWait);
  Acknowledge();
  EXPECT_EQ(Next(), Do::kEnd);
  const StoredBatch::Result result = Result();
  EXPECT_THAT(result.sent, ElementsAre(0, 1));
  EXPECT_TRUE(result.trouble.ok());
  EXPECT_FALSE(batch_.must_replace_sink());
}

TEST_F(StoredBatchTest, ATopicThatTakesNothingHoldsUpItsKeysAlone) {
  sink_.missing = "t.gone";
  Begin({Row(1, "a", "gone"), Row(2, "a"), Row(3, "b"), Row(4, "c", "gone")});
  EXPECT_EQ(Next(), Do::kWait);
  ASSERT_EQ(kafka_.accepted().size(), 1u);
  EXPECT_EQ(kafka_.accepted()[0].key, "b");
  Acknowledge();
  EXPECT_EQ(Next(seconds(1)), Do::kWait);
  EXPECT_EQ(kafka_.accepted().size(), 1u);
  sink_.missing = "";
  Next(seconds(2));
  Acknowledge();
  EXPECT_EQ(Next(seconds(2)), Do::kEnd);
  EXPECT_THAT(Result().sent, ElementsAre(0, 1, 2, 3));
}

// A row behind another of its key says nothing about its own topic.
TEST_F(StoredBatchTest, ATopicIsNotBlamedForARowThatWaitsForItsKey) {
  sink_.missing = "t.gone";
  Begin({Row(1, "a", "gone"), Row(2, "a"), Row(3, "b")});
  Next();
  ASSERT_EQ(kafka_.accepted().size(), 1u);
  EXPECT_EQ(kafka_.accepted()[0].key, "b");
}

TEST_F(StoredBatchTest, P8ATopicThatTakesNothingForLongFailsTheFirstOfEachKey) {
  sink_.missing = "t.gone";
  Begin({Row(1, "a", "gone"), Row(2, "a", "gone"), Row(3, "b"),
         Row(4, "c", "gone")});
  Next();
  Acknowledge();
  EXPECT_EQ(Next(seconds(1)), Do::kWait);
  EXPECT_EQ(Next(seconds(20)), Do::kWait);  // since it has moved
  EXPECT_EQ(Next(seconds(21)), Do::kEnd);
  const StoredBatch::Result result = Result(seconds(21));
  EXPECT_THAT(FailedRows(result), ElementsAre(0, 3));
  EXPECT_THAT(result.sent, ElementsAre(2));
  EXPECT_TRUE(result.trouble.ok());
}

TEST_F(StoredBatchTest, SilentBrokersAreNotTheFaultOfATopic) {
  Begin({Row(1, "a")});
  Next();
  Next(seconds(1));  // it has moved until here
  EXPECT_EQ(batch_.Next(MonotonicTime(seconds(60)), /*brokers_answer=*/false),
            Do::kWait);
  EXPECT_EQ(Next(seconds(79)), Do::kWait);
  EXPECT_EQ(Next(seconds(80)), Do::kEnd);
  const StoredBatch::Result result = Result(seconds(80));
  ASSERT_THAT(FailedRows(result), ElementsAre(0));
  EXPECT_THAT(std::string(result.failed[0].reason.message()),
              HasSubstr("topic t.order took no record for 20 s"));
}

TEST_F(StoredBatchTest, P8ARejectedRecordIsLookedForOneByOne) {
  Begin({Row(1, "a"), Row(2, "b")});
  Next();
  sender_.OnAcknowledged(kafka_.accepted()[0].sequence, WallTime());
  Next();
  sender_.OnNotDelivered(kafka_.accepted()[1].sequence,
                         absl::InvalidArgumentError("too large"));
  EXPECT_EQ(Next(), Do::kEnd);
  StoredBatch::Result result = Result();
  EXPECT_THAT(result.sent, ElementsAre(0));
  EXPECT_THAT(result.failed, IsEmpty());
  EXPECT_FALSE(result.trouble.ok());
  EXPECT_TRUE(result.is_new_trouble);
  EXPECT_EQ(batch_.max_rows(), 1u);
  ReplaceSink();

  Begin({Row(2, "b")});
  Next();
  sender_.OnNotDelivered(kafka_.accepted()[2].sequence,
                         absl::InvalidArgumentError("too large"));
  EXPECT_EQ(Next(), Do::kEnd);
  result = Result();
  EXPECT_THAT(FailedRows(result), ElementsAre(0));
  EXPECT_TRUE(result.trouble.ok());
  EXPECT_EQ(batch_.max_rows(), StoredBatch::kMaxRows);
}

TEST_F(StoredBatchTest, AnEventThatCannotBeBuiltFailsAndWhatIsBeforeItIsSent) {
  Begin({Row(1, "a"), Row(2, "b", "no topic"), Row(3, "c")});
  EXPECT_EQ(Next(), Do::kWait);
  EXPECT_EQ(kafka_.accepted().size(), 1u);
  Acknowledge();
  EXPECT_EQ(Next(), Do::kEnd);
  const StoredBatch::Result result = Result();
  EXPECT_THAT(result.sent, ElementsAre(0));
  EXPECT_THAT(FailedRows(result), ElementsAre(1));
  ReplaceSink();
}

TEST_F(StoredBatchTest, TheSameTroubleIsNewOnce) {
  EXPECT_TRUE(batch_.Refuse(absl::UnavailableError("x")).is_new_trouble);
  EXPECT_FALSE(batch_.Refuse(absl::UnavailableError("x")).is_new_trouble);
  EXPECT_TRUE(batch_.Refuse(absl::UnavailableError("y")).is_new_trouble);
  EXPECT_EQ(batch_.max_rows(), StoredBatch::kMaxRows);
}

TEST_F(StoredBatchTest, WhatATopicWaitsForIsSaidOnce) {
  sink_.missing = "t.gone";
  Begin({Row(1, "a", "gone")});
  Next();
  EXPECT_EQ(batch_.TakeNewTrouble(MonotonicTime(seconds(1))), "");
  EXPECT_EQ(batch_.TakeNewTrouble(MonotonicTime(seconds(3))), "no such topic");
  EXPECT_EQ(batch_.TakeNewTrouble(MonotonicTime(seconds(4))), "");
}

TEST_F(StoredBatchTest, ABatchThatMovesHasNoTrouble) {
  Begin({Row(1, "a")});
  Next();
  EXPECT_EQ(batch_.TakeNewTrouble(MonotonicTime(seconds(9))), "");
}

TEST_F(StoredBatchTest, AStoppedBatchEndsAndNoRowIsAtFault) {
  Begin({Row(1, "a")});
  Next();
  batch_.Stop();
  sender_.OnNotDelivered(kafka_.accepted()[0].sequence,
                         absl::AbortedError("closed"));
  EXPECT_EQ(Next(), Do::kEnd);
  const StoredBatch::Result result = Result();
  EXPECT_TRUE(absl::IsCancelled(result.trouble));
  EXPECT_THAT(result.failed, IsEmpty());
  EXPECT_FALSE(result.is_new_trouble);
}

class StoredLettersTest : public StoredBatchTest {
 protected:
  StoredLettersTest() : StoredBatchTest({.keeps_order = false}) {}
};

TEST_F(StoredLettersTest, WaitForNoOtherOfTheirKey) {
  sink_.missing = "t.gone";
  Begin({Row(1, "a", "gone"), Row(2, "a")});
  Next();
  EXPECT_EQ(kafka_.accepted().size(), 1u);
}

class IsolatedBatchTest : public StoredBatchTest {
 protected:
  IsolatedBatchTest() : StoredBatchTest({.topics_fail = false}) {}
};

TEST_F(IsolatedBatchTest, WaitsForItsTopic) {
  sink_.missing = "t.order";
  Begin({Row(1, "a")});
  EXPECT_EQ(Next(), Do::kWait);
  EXPECT_EQ(Next(seconds(3'600)), Do::kWait);
  EXPECT_THAT(batch_.waits_for(MonotonicTime(seconds(3'600))),
              HasSubstr("t.order takes no records for 3600 s: no such topic"));
}

class BatchInTransactionsTest : public StoredBatchTest {
 protected:
  BatchInTransactionsTest() : StoredBatchTest({.has_ledger = true}) {}

  // Sends the batch as far as the commit.
  void SendUntilCommit(std::vector<ParkedRow> rows) {
    Begin(std::move(rows));
    EXPECT_EQ(Next(), Do::kWait);
    Acknowledge();
    EXPECT_EQ(Next(), Do::kCommit);
  }
};

TEST_F(BatchInTransactionsTest, P5SentIsWhatIsCommitted) {
  SendUntilCommit({Row(1, "a"), Row(2, "b")});
  batch_.OnCommitted(absl::OkStatus());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_THAT(Result().sent, ElementsAre(0, 1));
}

// What it settles is for the records of the commit, and for no other one.
TEST_F(BatchInTransactionsTest, P5ACommitSettlesWhatIsAcknowledgedSince) {
  sink_.missing = "t.gone";
  SendUntilCommit({Row(1, "a"), Row(2, "b", "gone"), Row(3, "c")});
  EXPECT_THAT(batch_.committing(), ElementsAre(0, 2));
  batch_.OnCommitted(absl::OkStatus());
  EXPECT_THAT(batch_.committing(), IsEmpty());
  sink_.missing = "";
  EXPECT_EQ(Next(), Do::kWait);
  Acknowledge();
  EXPECT_EQ(Next(), Do::kCommit);
  EXPECT_THAT(batch_.committing(), ElementsAre(1));
}

TEST_F(BatchInTransactionsTest, P5ASinkThatIsGivenUpSettlesNothing) {
  Begin({Row(1, "a")});
  EXPECT_EQ(Next(), Do::kWait);
  batch_.GiveUpSink(absl::UnavailableError("silent"));
  EXPECT_EQ(Next(), Do::kEnd);
  const StoredBatch::Result result = Result();
  EXPECT_THAT(result.sent, IsEmpty());
  EXPECT_TRUE(absl::IsUnavailable(result.trouble));
  EXPECT_TRUE(batch_.must_replace_sink());
}

// For a command that ends where others try again.
TEST_F(StoredBatchTest, TroubleInCompanyMayBeThatOfOneRow) {
  Begin({Row(1, "a"), Row(2, "b")});
  EXPECT_EQ(Next(), Do::kWait);
  sender_.OnSinkFailed(absl::UnavailableError("unknown topic"));
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(Result().may_go_on);
  ReplaceSink();
  Begin({Row(1, "a")});
  sender_.OnSinkFailed(absl::UnavailableError("silent"));
  EXPECT_EQ(batch_.Next(MonotonicTime(), false), Do::kEnd);
  const StoredBatch::Result alone = batch_.TakeResult(MonotonicTime(), false);
  EXPECT_TRUE(absl::IsUnavailable(alone.trouble));
  EXPECT_FALSE(alone.may_go_on) << "it is not";
}

TEST_F(StoredBatchTest, ABatchThatHasMovedMayGoOn) {
  Begin({Row(1, "a"), Row(2, "b")});
  Next();
  sender_.OnAcknowledged(kafka_.accepted()[0].sequence, WallTime());
  sender_.OnSinkFailed(absl::AbortedError("spent"));
  Next();
  EXPECT_TRUE(Result().may_go_on);
}

TEST_F(StoredBatchTest, P3WhoIsFencedMayNotGoOn) {
  Begin({Row(1, "a"), Row(2, "b")});
  Next();
  sender_.OnAcknowledged(kafka_.accepted()[0].sequence, WallTime());
  sender_.OnSinkFailed(
      WithReasonCode(absl::AbortedError("another command"), kReasonFenced));
  Next();
  EXPECT_FALSE(Result().may_go_on);
}

TEST_F(StoredBatchTest, WithoutASinkNothingMayGoOn) {
  Begin({Row(1, "a"), Row(2, "b")});
  EXPECT_FALSE(batch_.Refuse(absl::UnavailableError("no broker")).may_go_on);
}

class CommitsOnlyTest : public StoredBatchTest {
 protected:
  CommitsOnlyTest()
      : StoredBatchTest({.commits_only = true, .has_ledger = true}) {}
};

TEST_F(CommitsOnlyTest, P8NothingIsSentAndAllIsSettledByTheCommit) {
  ParkedRow unreadable = Row(2, "a");
  unreadable.content.source = "not.configured";
  Begin({Row(1, "a"), unreadable});
  EXPECT_EQ(Next(), Do::kCommit);
  EXPECT_THAT(batch_.committing(), ElementsAre(0, 1));
  batch_.OnCommitted(absl::OkStatus());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_THAT(kafka_.accepted(), IsEmpty());
  EXPECT_THAT(Result().sent, ElementsAre(0, 1));
}

TEST_F(CommitsOnlyTest, P8AFailedCommitSettlesNothing) {
  Begin({Row(1, "a")});
  EXPECT_EQ(Next(), Do::kCommit);
  batch_.OnCommitted(absl::AbortedError("fenced"));
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_THAT(Result().sent, IsEmpty());
}

TEST_F(BatchInTransactionsTest, P5AfterAFailedCommitNothingIsSent) {
  SendUntilCommit({Row(1, "a")});
  batch_.OnCommitted(absl::UnavailableError("no answer"));
  EXPECT_EQ(Next(), Do::kEnd);
  const StoredBatch::Result result = Result();
  EXPECT_THAT(result.sent, IsEmpty());
  EXPECT_THAT(result.failed, IsEmpty());
  EXPECT_TRUE(absl::IsUnavailable(result.trouble));
  ReplaceSink();
  EXPECT_FALSE(batch_.must_replace_sink());
}

TEST_F(BatchInTransactionsTest, P5WhatTheLedgerHasIsNotSentAgain) {
  SendUntilCommit({Row(1, "a"), Row(2, "b")});
  const std::string ledger = batch_.ledger();
  batch_.StartOver();
  ASSERT_TRUE(batch_.LoadLedger(ledger).ok());
  Begin({Row(1, "a"), Row(2, "b"), Row(3, "c")});
  EXPECT_EQ(Next(), Do::kWait);
  ASSERT_EQ(kafka_.accepted().size(), 3u);
  EXPECT_EQ(kafka_.accepted().back().key, "c");
}

// Its rows may not be marked yet, if another crash follows.
TEST_F(BatchInTransactionsTest, P5TheLedgerKeepsWhatItHadWhenItTookOver) {
  SendUntilCommit({Row(1, "a")});
  const std::string inherited = batch_.ledger();
  batch_.StartOver();
  ASSERT_TRUE(batch_.LoadLedger(inherited).ok());
  SendUntilCommit({Row(2, "b")});
  EXPECT_THAT(batch_.ledger(), HasSubstr(inherited));
}

TEST_F(BatchInTransactionsTest, P5ALaterCommitOfABatchHasTheRowsOfTheFirst) {
  sink_.missing = "t.gone";
  Begin({Row(1, "a"), Row(2, "b", "gone")});
  Next();
  Acknowledge();
  ASSERT_EQ(Next(), Do::kCommit);  // it does not wait for the topic
  const std::string first = batch_.ledger();
  batch_.OnCommitted(absl::OkStatus());
  sink_.missing = "";
  Next();
  Acknowledge();
  ASSERT_EQ(Next(), Do::kCommit);
  EXPECT_THAT(batch_.ledger(), HasSubstr(first));
  batch_.OnCommitted(absl::OkStatus());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_THAT(Result().sent, ElementsAre(0, 1));
}

TEST_F(BatchInTransactionsTest, ADeniedTopicFailsTheRowThatIsAlone) {
  Begin({Row(1, "a")});
  Next();
  sender_.OnSinkFailed(absl::FailedPreconditionError("denied"));
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_THAT(FailedRows(Result()), ElementsAre(0));
}

TEST_F(BatchInTransactionsTest, ADeniedLedgerIsNotTheFaultOfARow) {
  SendUntilCommit({Row(1, "a")});
  batch_.OnCommitted(absl::FailedPreconditionError("denied"));
  EXPECT_EQ(Next(), Do::kEnd);
  const StoredBatch::Result result = Result();
  EXPECT_THAT(result.failed, IsEmpty());
  EXPECT_FALSE(result.trouble.ok());
}

TEST_F(BatchInTransactionsTest, P9AnUnreadableLedgerIsAnError) {
  EXPECT_TRUE(absl::IsDataLoss(batch_.LoadLedger("no entry at all")));
}

}  // namespace
}  // namespace walpost
