// Against a mock cluster, which has no epochs: fencing is in tests/e2e.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <set>
#include <string>

#include "kafka/producer/producer.h"
#include "support/mock_kafka.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::MockKafka;

constexpr int kProduceApi = 0;
constexpr int kAddPartitionsToTxnApi = 24;
constexpr int kEndTxnApi = 26;

class Reports final : public RecordReports {
 public:
  void OnAcknowledged(Sequence sequence, WallTime) override {
    acknowledged.insert(sequence);
  }
  void OnNotDelivered(Sequence sequence, const absl::Status& status) override {
    not_delivered.insert(sequence);
    rejection = status;
  }
  void OnSinkFailed(const absl::Status& error) override { failure = error; }

  std::set<Sequence> acknowledged;
  std::set<Sequence> not_delivered;
  absl::Status failure;
  absl::Status rejection;  // of the last one that was not delivered
};

class TransactionsTest : public ::testing::Test {
 protected:
  TransactionsTest() {
    kafka_.CreateTopic("t", 1);
    ProducerOptions options;
    options.brokers = kafka_.brokers();
    options.transactional_id = "id";
    options.properties.emplace_back("statistics.interval.ms", "0");
    producer_ = *Producer::Create(io_.get_executor(), options, reports_, [] {});
  }

  template <typename Condition>
  bool TurnUntil(const Condition& condition) {
    for (int turns = 0; turns < 1'000 && !condition(); ++turns) {
      io_.restart();
      io_.run_for(milliseconds(10));
    }
    return condition();
  }

  absl::Status TakeOver() {
    std::optional<absl::Status> result;
    producer_->transactions()->TakeOver(
        seconds(10), [&](const absl::Status& status) { result = status; });
    EXPECT_TRUE(TurnUntil([&] { return result.has_value(); }));
    return result.value_or(absl::UnknownError("no answer"));
  }

  absl::Status Commit() {
    std::optional<absl::Status> result;
    producer_->transactions()->Commit(
        [&](const absl::Status& status) { result = status; });
    EXPECT_TRUE(TurnUntil([&] { return result.has_value(); }));
    return result.value_or(absl::UnknownError("no answer"));
  }

  absl::Status Produce(Sequence sequence) {
    const std::string value = std::to_string(sequence);
    Record record;
    record.topic = "t";
    record.key = "k";
    record.value = value;
    record.timestamp = WallNow();
    return producer_->Produce(record, sequence);
  }

  // The first record of a topic waits: a transaction may be open there.
  absl::Status ProduceWhenSettled(Sequence sequence) {
    absl::Status produced = Produce(sequence);
    for (int i = 0; i < 1'000 && absl::IsResourceExhausted(produced); ++i) {
      io_.restart();
      io_.run_for(milliseconds(10));
      produced = Produce(sequence);
    }
    return produced;
  }

  void ProduceAndAwait(Sequence sequence) {
    const absl::Status produced = ProduceWhenSettled(sequence);
    ASSERT_TRUE(produced.ok()) << produced;
    ASSERT_TRUE(
        TurnUntil([&] { return reports_.acknowledged.contains(sequence); }));
  }

  void Close() {
    bool closed = false;
    producer_->Close(std::chrono::steady_clock::now(), [&] { closed = true; });
    EXPECT_TRUE(TurnUntil([&] { return closed; }));
  }

  MockKafka kafka_;
  asio::io_context io_;
  Reports reports_;
  std::unique_ptr<Producer> producer_;
};

TEST_F(TransactionsTest, P5NothingIsProducedBeforeTheTakeOver) {
  EXPECT_TRUE(absl::IsResourceExhausted(Produce(0)));
  ASSERT_TRUE(TakeOver().ok());
  EXPECT_THAT(Produce(0).message(), ::testing::HasSubstr("open transaction"));
  EXPECT_TRUE(ProduceWhenSettled(0).ok());
}

TEST_F(TransactionsTest, CommitsOneTransactionAfterTheOther) {
  ASSERT_TRUE(TakeOver().ok());
  for (Sequence sequence = 0; sequence < 3; ++sequence) {
    ProduceAndAwait(sequence);
    const absl::Status committed = Commit();
    EXPECT_TRUE(committed.ok()) << committed;
  }
  EXPECT_EQ(kafka_.Log("t").size(), 3u);
  Close();
}

TEST_F(TransactionsTest, P5NothingIsProducedWhileACommitIsOnItsWay) {
  ASSERT_TRUE(TakeOver().ok());
  ProduceAndAwait(0);
  std::optional<absl::Status> result;
  producer_->transactions()->Commit(
      [&](const absl::Status& status) { result = status; });
  EXPECT_TRUE(absl::IsResourceExhausted(Produce(1)));
  ASSERT_TRUE(TurnUntil([&] { return result.has_value(); }));
  EXPECT_TRUE(Produce(1).ok());
}

TEST_F(TransactionsTest, ACommitThatTheBrokersRejectFails) {
  ASSERT_TRUE(TakeOver().ok());
  ProduceAndAwait(0);
  kafka_.FailOnce(kEndTxnApi, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  const absl::Status fenced = Commit();
  EXPECT_TRUE(absl::IsAborted(fenced)) << fenced;
  EXPECT_THAT(fenced.message(), ::testing::HasSubstr("transactional.id id"));
  Close();
}

TEST_F(TransactionsTest,
       ATransactionThatCanOnlyBeAbortedFailsTheSinkWithItsCause) {
  ASSERT_TRUE(TakeOver().ok());
  kafka_.FailOnce(kAddPartitionsToTxnApi,
                  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  ASSERT_TRUE(ProduceWhenSettled(0).ok());
  ASSERT_TRUE(TurnUntil([&] { return !reports_.failure.ok(); }));
  EXPECT_TRUE(absl::IsAborted(reports_.failure));
  EXPECT_THAT(reports_.failure.message(),
              ::testing::HasSubstr("Topic authorization failed"));
  Close();
  EXPECT_EQ(reports_.not_delivered, std::set<Sequence>{0});
}

TEST_F(TransactionsTest, CloseAnswersACommitThatIsOnItsWay) {
  ASSERT_TRUE(TakeOver().ok());
  ProduceAndAwait(0);
  std::optional<absl::Status> result;
  producer_->transactions()->Commit(
      [&](const absl::Status& status) { result = status; });
  Close();
  EXPECT_TRUE(result.has_value());
}

TEST_F(TransactionsTest, DestroyingItWaitsForTheHelper) {
  ASSERT_TRUE(TakeOver().ok());
  ProduceAndAwait(0);
  producer_->transactions()->Commit([](const absl::Status&) { FAIL(); });
  producer_.reset();
  AwaitBlockedThreads(seconds(5));
  EXPECT_EQ(CountBlockedThreads(), 0);
}

// A repeated commit may still have its first request on the way.
TEST_F(TransactionsTest, IsSpentByARequestWithoutAnAnswer) {
  ASSERT_TRUE(TakeOver().ok());
  ProduceAndAwait(1);
  ASSERT_TRUE(Commit().ok());
  ASSERT_TRUE(reports_.failure.ok()) << reports_.failure;
  ProduceAndAwait(2);
  kafka_.FailOnce(kEndTxnApi, RD_KAFKA_RESP_ERR__TRANSPORT);
  const absl::Status committed = Commit();
  EXPECT_TRUE(committed.ok()) << committed;
  EXPECT_TRUE(absl::IsAborted(reports_.failure)) << reports_.failure;
  EXPECT_TRUE(absl::IsResourceExhausted(Produce(3)));
}

TEST_F(TransactionsTest, P8ARejectedRecordIsWithdrawnWithItsTransaction) {
  EXPECT_EQ(producer_->after_rejection(), RecordSink::AfterRejection::kGoesOn);
  ASSERT_TRUE(TakeOver().ok());
  ProduceAndAwait(0);
  ASSERT_TRUE(Commit().ok());
  for (Sequence sequence = 1; sequence < 4; ++sequence) {
    kafka_.FailOnce(kProduceApi, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    ASSERT_TRUE(ProduceWhenSettled(sequence).ok());
    ASSERT_TRUE(
        TurnUntil([&] { return reports_.not_delivered.contains(sequence); }));
    EXPECT_TRUE(absl::IsInvalidArgument(reports_.rejection))
        << reports_.rejection;
    producer_->Withdraw();
    EXPECT_FALSE(producer_->transactions()->is_open());
    EXPECT_TRUE(absl::IsResourceExhausted(Produce(9)));
    ASSERT_TRUE(
        TurnUntil([&] { return producer_->transactions()->is_open(); }));
    EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
  }
  // The client has miscounted: it has to be sent again.
  ASSERT_TRUE(ProduceWhenSettled(4).ok());
  ASSERT_TRUE(TurnUntil([&] { return reports_.not_delivered.contains(4); }));
  EXPECT_TRUE(absl::IsResourceExhausted(reports_.rejection))
      << reports_.rejection;
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
  ProduceAndAwait(4);
  EXPECT_TRUE(Commit().ok());
  EXPECT_EQ(kafka_.Log("t").size(), 2u);
  Close();
}

}  // namespace
}  // namespace walpost
