#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/stored/batch_committer.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;
using testing::MemorySink;

// Its answers come later, and when it is interrupted.
class FakeTransactions final : public SinkTransactions {
 public:
  explicit FakeTransactions(asio::any_io_executor executor)
      : executor_(std::move(executor)) {}

  void TakeOver(std::chrono::milliseconds, Done done) override {
    Answer(std::move(done), taken_over);
  }
  void Commit(Done done) override {
    ++commits;
    Answer(std::move(done), committed);
  }
  void Interrupt() override {
    if (pending_) pending_(absl::UnavailableError("interrupted"));
    pending_ = nullptr;
  }
  bool is_open() const override { return true; }

  absl::Status taken_over;
  absl::Status committed;
  bool never_answers = false;
  int commits = 0;

 private:
  void Answer(Done done, const absl::Status& status) {
    if (never_answers) {
      pending_ = std::move(done);
      return;
    }
    asio::post(executor_, [done = std::move(done), status] { done(status); });
  }

  asio::any_io_executor executor_;
  Done pending_;
};

class LedgerRecordTest : public ::testing::Test {
 protected:
  LedgerRecordTest()
      : run_(
            io_.get_executor(), RecordBuilder::Create(Outbox()).value(),
            [this](const SinkOptions&, RecordReports& reports,
                   const std::function<void()>&) {
              auto sink = std::make_unique<MemorySink>(&reports);
              sink->SetTransactions(&transactions_);
              sink_ = sink.get();
              return absl::StatusOr<std::unique_ptr<Sink>>(std::move(sink));
            },
            {}, nullptr) {
    EXPECT_TRUE(run_.Start().ok());
  }

  static OutboxOptions Outbox() {
    OutboxOptions options;
    options.tables.resize(1);
    return options;
  }

  template <typename Result>
  std::optional<Result> Run(asio::awaitable<Result> coroutine) {
    std::optional<Result> result;
    asio::co_spawn(
        io_, std::move(coroutine),
        [&](const std::exception_ptr&, Result value) { result = value; });
    io_.restart();
    io_.run_for(std::chrono::seconds(20));
    return result;
  }

  asio::io_context io_;
  FakeTransactions transactions_{io_.get_executor()};
  MemorySink* sink_ = nullptr;
  DeliveryRun run_;
  // The thread that reads may outlive the test.
  std::shared_ptr<absl::StatusOr<std::string>> content_ =
      std::make_shared<absl::StatusOr<std::string>>("7/A-1 0123");
  LedgerRecord record_{
      io_.get_executor(),
      [content = content_](const TopicRecord& place, std::stop_token) {
        EXPECT_EQ(place.name, "released:slot");
        return *content;
      },
      {"walpost-checkpoints", "released:slot", "42"}};
};

TEST_F(LedgerRecordTest, P5IsReadOnceItsSinkHasTakenOver) {
  const auto opened = Run(record_.Open(run_));
  ASSERT_TRUE(opened && opened->ok()) << opened->status();
  EXPECT_EQ(**opened, "7/A-1 0123");
}

TEST_F(LedgerRecordTest, P5IsNotReadIfAnotherHasTakenOver) {
  transactions_.taken_over = absl::AbortedError("fenced");
  const auto opened = Run(record_.Open(run_));
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(absl::IsUnavailable(opened->status())) << opened->status();
}

TEST_F(LedgerRecordTest, P9WhatCannotBeReadIsNotTakenForEmpty) {
  *content_ = absl::FailedPreconditionError("may not be read");
  const auto opened = Run(record_.Open(run_));
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(opened->status()));
  EXPECT_THAT(std::string(record_.Unreadable("line 1").message()),
              HasSubstr("topic walpost-checkpoints, record released:slot"));
}

TEST_F(LedgerRecordTest, P5EachCommitHasTheRecord) {
  const auto committed = Run(record_.Commit(run_, "8/B-1 4567"));
  ASSERT_TRUE(committed && committed->ok());
  EXPECT_EQ(transactions_.commits, 1);
  ASSERT_EQ(sink_->accepted().size(), 1u);
  EXPECT_EQ(sink_->accepted()[0].topic, "walpost-checkpoints");
  EXPECT_EQ(sink_->accepted()[0].value, "8/B-1 4567");
}

// It has just learnt of the topic.
TEST_F(LedgerRecordTest, ACommitWaitsForASinkThatIsFull) {
  sink_->AnswerWith(absl::ResourceExhaustedError("not yet"));
  asio::steady_timer later(io_, std::chrono::milliseconds(80));
  later.async_wait([this](auto) { sink_->AnswerWith(absl::OkStatus()); });
  Record other;
  other.topic = "t";
  const auto twice = [this](Record record) -> asio::awaitable<absl::Status> {
    const std::vector<Record> records{record, record};
    co_return co_await run_.Commit(records);
  };
  const auto committed = Run(twice(other));
  ASSERT_TRUE(committed && committed->ok());
  EXPECT_EQ(transactions_.commits, 1);
  ASSERT_EQ(sink_->accepted().size(), 2u);
  EXPECT_NE(sink_->accepted()[0].sequence, sink_->accepted()[1].sequence);
}

TEST_F(LedgerRecordTest, P5ACommitWithoutItsRecordsIsNone) {
  sink_->AnswerWith(absl::ResourceExhaustedError("not yet"));
  asio::post(io_, [this] { asio::post(io_, [this] { run_.Interrupt(); }); });
  const auto committed = Run(record_.Commit(run_, ""));
  ASSERT_TRUE(committed.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*committed));
  EXPECT_EQ(transactions_.commits, 0);
}

TEST_F(LedgerRecordTest, ACommitWithoutAnAnswerEndsWhenItIsInterrupted) {
  transactions_.never_answers = true;
  asio::post(io_, [this] {  // behind the begin of the coroutine
    asio::post(io_, [this] { run_.Interrupt(); });
  });
  const auto committed = Run(record_.Commit(run_, ""));
  ASSERT_TRUE(committed.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*committed));
}

// A StoredEventSender does so in each transaction.
class LedgerCommitterTest : public LedgerRecordTest {
 protected:
  LedgerCommitterTest() { batch_.Begin({Row(7), Row(8)}, MonotonicTime()); }

  static ParkedRow Row(ParkedNumber number) {
    ParkedRow row;
    row.number = number;
    row.content.id = std::to_string(number);
    row.content.payload = "v";
    row.content.aggregate_type = "order";
    row.content.source = "public.outbox";
    return row;
  }
  static OutboxOptions Named() {
    OutboxOptions outbox = Outbox();
    outbox.tables[0].name = "public.outbox";
    return outbox;
  }

  OutboxOptions outbox_ = Named();
  StoredBatch batch_{outbox_, run_.sender(), {.has_ledger = true}};
  LedgerCommitter committer_{
      io_.get_executor(),
      [content = content_](const TopicRecord&, std::stop_token) {
        return *content;
      },
      {"walpost-checkpoints", "released:slot", "42"}};
};

TEST_F(LedgerCommitterTest, P5WhoTakesOverKnowsWhatIsCommitted) {
  *content_ = "";
  const auto opened = Run(committer_.Open(run_, batch_));
  ASSERT_TRUE(opened && opened->ok()) << *opened;
  ASSERT_EQ(batch_.Next(MonotonicTime(), true), StoredBatch::Do::kWait);
  ASSERT_EQ(sink_->accepted().size(), 2u);
  sink_->Turn(MonotonicTime());
  ASSERT_EQ(batch_.Next(MonotonicTime(), true), StoredBatch::Do::kCommit);
  const auto committed = Run(committer_.Commit(run_, batch_));
  ASSERT_TRUE(committed && committed->ok());
  *content_ = *sink_->accepted().back().value;
  const auto again = Run(committer_.Open(run_, batch_));
  ASSERT_TRUE(again && again->ok()) << *again;
  batch_.Begin({Row(7), Row(8)}, MonotonicTime());
  EXPECT_EQ(batch_.Next(MonotonicTime(), true), StoredBatch::Do::kEnd);
  EXPECT_EQ(sink_->accepted().size(), 3u) << "two events, one ledger";
}

TEST_F(LedgerCommitterTest, P9AnUnreadableLedgerNamesItsPlace) {
  *content_ = "not a ledger";
  const auto opened = Run(committer_.Open(run_, batch_));
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(*opened)) << *opened;
  EXPECT_THAT(std::string(opened->message()), HasSubstr("released:slot"));
}

TEST_F(LedgerRecordTest, ACommitWithoutAnAnswerEndsForAVerbThatHasALimit) {
  DeliveryRun::Options options;
  options.silence_limit = std::chrono::seconds(0);
  DeliveryRun run(
      io_.get_executor(), RecordBuilder::Create(Outbox()).value(),
      [this](const SinkOptions&, RecordReports& reports,
             const std::function<void()>&) {
        auto sink = std::make_unique<MemorySink>(&reports);
        sink->SetTransactions(&transactions_);
        return absl::StatusOr<std::unique_ptr<Sink>>(std::move(sink));
      },
      std::move(options), nullptr);
  ASSERT_TRUE(run.Start().ok());
  transactions_.never_answers = true;
  const auto committed = Run(record_.Commit(run, ""));
  ASSERT_TRUE(committed.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*committed));
}

TEST_F(LedgerRecordTest, StopsWaitingForItsReader) {
  transactions_.never_answers = true;
  record_.Stop();
  const auto opened = Run(record_.Open(run_));
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(absl::IsCancelled(opened->status())) << opened->status();
}

}  // namespace
}  // namespace walpost
