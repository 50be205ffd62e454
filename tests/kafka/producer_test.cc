// What no real broker does when it is asked to: librdkafka's own mock cluster
// refuses a request in passing. The rest is in tests/e2e.
#include "kafka/producer/producer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "support/mock_kafka.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr char kTopic[] = "t";
// One key for each of the two partitions.
constexpr char kKey[] = "key-0";
constexpr char kOtherKey[] = "key-1";
constexpr char kTopicOfOne[] = "one";  // partition
constexpr char kLetters[] = "letters";
constexpr int kProduceApi = 0;
constexpr int kRecords = 20;

class Reports final : public RecordReports {
 public:
  void OnAcknowledged(Sequence sequence, WallTime) override {
    acknowledged.insert(sequence);
  }
  void OnNotDelivered(Sequence, const absl::Status& error) override {
    failure = error;
  }
  void OnSinkFailed(const absl::Status& error) override { failure = error; }

  std::set<Sequence> acknowledged;
  absl::Status failure;
};

class ProducerTest : public ::testing::Test {
 protected:
  ProducerTest()
      : owner_(
            rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0)),
        cluster_(rd_kafka_mock_cluster_new(owner_, 1)) {
    rd_kafka_mock_topic_create(cluster_, kTopic, 2, 1);
    rd_kafka_mock_topic_create(cluster_, kTopicOfOne, 1, 1);
    // Long enough for the next request to be on its way meanwhile.
    rd_kafka_mock_broker_set_rtt(cluster_, 1, 30);
    ProducerOptions options;
    options.brokers = rd_kafka_mock_cluster_bootstraps(cluster_);
    options.max_topics = 2;
    options.own_topics = {kLetters};
    producer_ = *Producer::Create(io_.get_executor(), options, reports_, [] {});
  }

  ~ProducerTest() override {
    producer_.reset();
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }

  void Turn(milliseconds time) {
    io_.restart();
    io_.run_for(time);
  }

  static int32_t PartitionOf(std::string_view key) {
    return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), 2,
                                            nullptr, nullptr);
  }

  // As the pipeline does it: what is not taken is offered again.
  void Produce(Sequence sequence, Value key = kKey, const char* topic = kTopic,
               std::optional<int32_t> partition = std::nullopt) {
    const std::string value = std::to_string(sequence);
    Record record;
    record.topic = topic;
    record.key = key;
    record.value = value;
    record.timestamp = WallNow();
    record.partition = partition;
    absl::Status status = producer_->Produce(record, sequence);
    for (int tries = 0; absl::IsResourceExhausted(status); ++tries) {
      ASSERT_LT(tries, 5000);
      Turn(milliseconds(2));
      status = producer_->Produce(record, sequence);
    }
    ASSERT_TRUE(status.ok()) << status;
    Turn(milliseconds(2));
  }

  void TurnUntilAcknowledged(size_t records) {
    for (int turns = 0; turns < 1000; ++turns) {
      if (reports_.acknowledged.size() >= records) return;
      if (!reports_.failure.ok()) return;
      Turn(milliseconds(10));
    }
  }

  // What the log of the partition holds, in its order.
  std::vector<std::string> Log() {
    const int32_t partition = PartitionOf(kKey);
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers",
                      rd_kafka_mock_cluster_bootstraps(cluster_), nullptr, 0);
    rd_kafka_conf_set(conf, "group.id", "reader", nullptr, 0);
    rd_kafka_conf_set(conf, "enable.partition.eof", "true", nullptr, 0);
    rd_kafka_t* reader = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
    rd_kafka_topic_partition_list_t* from =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(from, kTopic, partition)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(reader, from);
    rd_kafka_topic_partition_list_destroy(from);
    std::vector<std::string> values;
    for (bool at_end = false; !at_end;) {
      rd_kafka_message_t* message = rd_kafka_consumer_poll(reader, 10'000);
      if (message == nullptr) break;
      at_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        values.emplace_back(static_cast<const char*>(message->payload),
                            message->len);
      }
      rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(reader);
    rd_kafka_destroy(reader);
    return values;
  }

  boost::asio::io_context io_{1};
  Reports reports_;
  rd_kafka_t* owner_;
  rd_kafka_mock_cluster_t* cluster_;
  std::unique_ptr<Producer> producer_;
};

// A broker that knows nothing of a producer yet, like this mock, takes its
// batches whatever their sequence numbers are.
TEST_F(ProducerTest, CountsThePartitionsOfTheTopicsThatHaveRecords) {
  EXPECT_EQ(producer_->partitions(), 0u);
  Produce(0);
  Produce(1, kKey, kTopicOfOne);
  Turn(milliseconds(2'500));
  EXPECT_EQ(producer_->partitions(), 3u);
}

// The next statistics come after 12 s.
TEST_F(ProducerTest, P10ABrokerThatGoesDownIsSeenAtOnce) {
  const auto wait_for = [&](bool is_up) {
    const MonotonicTime until = std::chrono::steady_clock::now() + seconds(5);
    while ((producer_->Health().brokers_up > 0) != is_up &&
           std::chrono::steady_clock::now() < until) {
      Turn(milliseconds(10));
    }
    return (producer_->Health().brokers_up > 0) == is_up;
  };
  Produce(0);
  ASSERT_TRUE(wait_for(true));
  rd_kafka_mock_broker_set_down(cluster_, 1);
  EXPECT_TRUE(wait_for(false));
}

TEST_F(ProducerTest, P3NothingOvertakesTheFirstRecordOfAPartition) {
  ASSERT_NE(PartitionOf(kKey), PartitionOf(kOtherKey));
  // The producer has its id and knows the topic: requests are small and many.
  ASSERT_NO_FATAL_FAILURE(Produce(kRecords, kOtherKey));
  TurnUntilAcknowledged(1);
  rd_kafka_mock_push_request_errors(cluster_, kProduceApi, 1,
                                    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
  std::vector<std::string> expected;
  for (Sequence sequence = 0; sequence < kRecords; ++sequence) {
    ASSERT_NO_FATAL_FAILURE(Produce(sequence));
    expected.push_back(std::to_string(sequence));
  }
  TurnUntilAcknowledged(kRecords + 1);
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
  EXPECT_THAT(Log(), ElementsAreArray(expected));
}

TEST_F(ProducerTest, P3NorThatOfAPartitionThatTheRecordsName) {
  const int32_t partition = PartitionOf(kKey);
  ASSERT_NO_FATAL_FAILURE(Produce(kRecords, kOtherKey));
  TurnUntilAcknowledged(1);
  rd_kafka_mock_push_request_errors(cluster_, kProduceApi, 1,
                                    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
  std::vector<std::string> expected;
  for (Sequence sequence = 0; sequence < kRecords; ++sequence) {
    const Value key = sequence % 2 == 0 ? Value(kOtherKey) : std::nullopt;
    ASSERT_NO_FATAL_FAILURE(Produce(sequence, key, kTopic, partition));
    expected.push_back(std::to_string(sequence));
  }
  TurnUntilAcknowledged(kRecords + 1);
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
  EXPECT_THAT(Log(), ElementsAreArray(expected));
}

TEST_F(ProducerTest, AFurtherTopicThanAllowedIsTheRecordsFault) {
  const auto produce = [this](const char* topic, Sequence sequence) {
    Record record;
    record.topic = topic;
    record.key = std::nullopt;
    record.value = "v";
    record.timestamp = WallNow();
    return producer_->Produce(record, sequence);
  };
  ASSERT_TRUE(produce(kTopic, 0).ok());
  ASSERT_TRUE(produce(kTopicOfOne, 1).ok());
  const absl::Status status = produce("third", 2);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(ReasonCodeOf(status), kReasonTooManyTopics);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("topic 'third' would be number 3"));
  EXPECT_TRUE(produce(kTopic, 3).ok()) << "it was there before";
  EXPECT_TRUE(produce(kLetters, 4).ok()) << "dead letters need a topic";
  EXPECT_EQ(producer_->Health().topics, 3u);
  EXPECT_EQ(producer_->Health().max_topics, 2u);
}

// The brokers are asked first: partitions may have been added.
TEST_F(ProducerTest, APartitionThatTheTopicDoesNotHaveIsTheRecordsFault) {
  ASSERT_NO_FATAL_FAILURE(Produce(0, kKey));
  TurnUntilAcknowledged(1);
  Record record;
  record.topic = kTopic;
  record.partition = 2;
  record.timestamp = WallNow();
  absl::Status status = producer_->Produce(record, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  for (int tries = 0; absl::IsResourceExhausted(status); ++tries) {
    ASSERT_LT(tries, 1000);
    Turn(milliseconds(20));
    status = producer_->Produce(record, 1);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(ReasonCodeOf(status), kReasonPartitionIllegal);
  ASSERT_NO_FATAL_FAILURE(Produce(1, std::nullopt, kTopic, 1));
  TurnUntilAcknowledged(2);
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
}

// What librdkafka concludes from the acknowledgement of a later record is not
// in the log: records without a key go without waiting.
TEST_F(ProducerTest, P1AnAcknowledgementWithoutAnOffsetIsNone) {
  ASSERT_NO_FATAL_FAILURE(Produce(kRecords, std::nullopt, kTopicOfOne));
  TurnUntilAcknowledged(1);
  rd_kafka_mock_push_request_errors(cluster_, kProduceApi, 1,
                                    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
  for (Sequence sequence = 0; sequence < kRecords; ++sequence) {
    ASSERT_NO_FATAL_FAILURE(Produce(sequence, std::nullopt, kTopicOfOne));
  }
  TurnUntilAcknowledged(kRecords + 1);
  EXPECT_TRUE(absl::IsAborted(reports_.failure)) << reports_.failure;
  // Those behind it are in the log, and are to come once more, behind it.
  EXPECT_THAT(reports_.acknowledged, ElementsAre(kRecords));
}

// librdkafka hands out the reports of a batch as one event.
TEST_F(ProducerTest, EveryRecordOfALargeBatchIsReported) {
  constexpr size_t kMany = 1'800;  // below the limit of the producer
  for (Sequence sequence = 0; sequence < kMany; ++sequence) {
    Record record;
    record.topic = kTopicOfOne;
    record.value = "v";
    record.timestamp = WallNow();
    ASSERT_TRUE(producer_->Produce(record, sequence).ok()) << sequence;
  }
  TurnUntilAcknowledged(kMany);
  EXPECT_EQ(reports_.acknowledged.size(), kMany);
}

// ---- For records that go one at a time.

class LoneProducerTest : public ::testing::Test {
 protected:
  LoneProducerTest() {
    kafka_.CreateTopic("t", 1);
    ProducerOptions options;
    options.brokers = kafka_.brokers();
    options.one_at_a_time = true;
    producer_ = *Producer::Create(io_.get_executor(), options, reports_, [] {});
  }

  absl::Status ProduceAndAwait(Sequence sequence) {
    const std::string value = std::to_string(sequence);
    Record record;
    record.topic = "t";
    record.key = "k";
    record.value = value;
    record.timestamp = WallNow();
    EXPECT_TRUE(producer_->Produce(record, sequence).ok());
    for (int turns = 0; turns < 1'000; ++turns) {
      if (reports_.acknowledged.contains(sequence)) return absl::OkStatus();
      if (reports_.errors.contains(sequence)) return reports_.errors[sequence];
      io_.restart();
      io_.run_for(milliseconds(10));
    }
    return absl::UnknownError("no report");
  }

  class LoneReports final : public RecordReports {
   public:
    void OnAcknowledged(Sequence sequence, WallTime) override {
      acknowledged.insert(sequence);
    }
    void OnNotDelivered(Sequence sequence, const absl::Status& error) override {
      errors[sequence] = error;
    }
    void OnSinkFailed(const absl::Status& error) override { failure = error; }

    std::set<Sequence> acknowledged;
    std::map<Sequence, absl::Status> errors;
    absl::Status failure;
  };

  testing::MockKafka kafka_;
  boost::asio::io_context io_{1};
  LoneReports reports_;
  std::unique_ptr<Producer> producer_;
};

TEST_F(LoneProducerTest, P8GoesOnAfterEachRejection) {
  EXPECT_EQ(producer_->after_rejection(),
            RecordSink::AfterRejection::kGoesOnAlone);
  for (Sequence sequence = 0; sequence < 10; ++sequence) {
    const bool is_rejected = sequence % 3 != 0;
    if (is_rejected) {
      kafka_.FailOnce(/*api_key=*/0, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    }
    const absl::Status status = ProduceAndAwait(sequence);
    EXPECT_EQ(absl::IsInvalidArgument(status), is_rejected) << status;
    if (is_rejected) producer_->Withdraw();
  }
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
  EXPECT_EQ(kafka_.Log("t").size(), 4u);
}

}  // namespace
}  // namespace walpost
