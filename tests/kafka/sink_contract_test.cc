// The contract of delivery/record_sink.h, held by every sink: the one in
// memory, which other tests trust, and librdkafka's against its mock cluster.
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <string>

#include "kafka/producer/kafka_sinks.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kTopic[] = "t";
constexpr Sequence kRecords = 20;

class CountingReports final : public RecordReports {
 public:
  void OnAcknowledged(Sequence sequence, WallTime) override {
    Count(sequence);
    ++acknowledged;
  }
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override {
    Count(sequence);
    not_delivered = error;
  }
  void OnSinkFailed(const absl::Status& error) override { failure = error; }

  std::map<Sequence, int> reported;
  size_t acknowledged = 0;
  absl::Status not_delivered;
  absl::Status failure;
  bool may_come = true;

 private:
  void Count(Sequence sequence) {
    EXPECT_TRUE(may_come) << "from within a call of the sink";
    ++reported[sequence];
  }
};

class MemoryHarness {
 public:
  explicit MemoryHarness(CountingReports& reports) : sink_(&reports) {}

  Sink& sink() { return sink_; }
  void Turn() { sink_.Turn(Clock::now()); }
  // The brokers answer nothing from now on.
  void Silence() { sink_.SetSilent(); }

 private:
  testing::MemorySink sink_;
};

class KafkaHarness {
 public:
  explicit KafkaHarness(CountingReports& reports)
      : owner_(
            rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0)),
        cluster_(rd_kafka_mock_cluster_new(owner_, 1)) {
    rd_kafka_mock_topic_create(cluster_, kTopic, 1, 1);
    ProducerOptions options;
    options.brokers = rd_kafka_mock_cluster_bootstraps(cluster_);
    const SinkFactory sinks = KafkaSinks(io_.get_executor(), options);
    sink_ = *sinks(SinkOptions(), reports, [] {});
  }

  ~KafkaHarness() {
    sink_.reset();
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }

  Sink& sink() { return *sink_; }
  void Turn() {
    io_.restart();
    io_.run_for(milliseconds(5));
  }
  void Silence() { rd_kafka_mock_broker_set_rtt(cluster_, 1, 60'000); }

 private:
  boost::asio::io_context io_{1};
  rd_kafka_t* owner_;
  rd_kafka_mock_cluster_t* cluster_;
  std::unique_ptr<Sink> sink_;
};

template <typename Harness>
class SinkContractTest : public ::testing::Test {
 protected:
  Sink& sink() { return harness_.sink(); }

  absl::Status Offer(Sequence sequence, const std::string& value) {
    Record record;
    record.topic = kTopic;
    record.key = "k";
    record.value = value;
    record.timestamp = WallNow();
    record.size_bytes = value.size();
    reports_.may_come = false;
    const absl::Status status = sink().Produce(record, sequence);
    reports_.may_come = true;
    return status;
  }

  // As the pipeline does it: a record that is not taken is offered again.
  void Produce(Sequence sequence) {
    absl::Status status;
    TurnUntil([&] {
      status = Offer(sequence, std::to_string(sequence));
      return !absl::IsResourceExhausted(status);
    });
    ASSERT_TRUE(status.ok()) << status;
  }

  template <typename Condition>
  void TurnUntil(Condition condition) {
    const MonotonicTime limit = Clock::now() + seconds(20);
    while (!condition()) {
      ASSERT_LT(Clock::now(), limit);
      harness_.Turn();
    }
  }

  void Close(MonotonicTime deadline) {
    bool closed = false;
    reports_.may_come = false;
    sink().Close(deadline, [&closed] { closed = true; });
    reports_.may_come = true;
    EXPECT_FALSE(closed) << "from within Close";
    TurnUntil([&] { return closed; });
  }

  void ExpectOneReportEach() {
    ASSERT_EQ(reports_.reported.size(), kRecords);
    for (const auto& [sequence, count] : reports_.reported) {
      EXPECT_EQ(count, 1) << sequence;
    }
  }

  CountingReports reports_;
  Harness harness_{reports_};
};

using Harnesses = ::testing::Types<MemoryHarness, KafkaHarness>;
TYPED_TEST_SUITE(SinkContractTest, Harnesses);

TYPED_TEST(SinkContractTest, EveryAcceptedRecordIsReportedOnce) {
  for (Sequence i = 0; i < kRecords; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->Produce(i));
  }
  this->TurnUntil([&] { return this->reports_.reported.size() == kRecords; });
  this->ExpectOneReportEach();
  EXPECT_EQ(this->reports_.acknowledged, kRecords);
}

TYPED_TEST(SinkContractTest, CloseWaitsForTheBrokers) {
  for (Sequence i = 0; i < kRecords; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->Produce(i));
  }
  this->Close(Clock::now() + seconds(15));
  this->ExpectOneReportEach();
  EXPECT_EQ(this->reports_.acknowledged, kRecords);
  EXPECT_FALSE(this->Offer(kRecords, "late").ok());
}

TYPED_TEST(SinkContractTest, CloseGivesUpSilentBrokersAtItsDeadline) {
  // The first record of a partition is alone.
  ASSERT_NO_FATAL_FAILURE(this->Produce(0));
  this->TurnUntil([&] { return this->reports_.acknowledged == 1; });
  this->harness_.Silence();
  for (Sequence i = 1; i < kRecords; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->Produce(i));
  }
  this->Close(Clock::now() + milliseconds(50));
  this->ExpectOneReportEach();
  EXPECT_EQ(this->reports_.acknowledged, 1u);
  EXPECT_TRUE(absl::IsAborted(this->reports_.not_delivered))
      << this->reports_.not_delivered;
}

TYPED_TEST(SinkContractTest, ATooLargeRecordIsRejectedAtOnce) {
  const size_t limit = this->sink().capabilities().max_record_bytes;
  ASSERT_GT(limit, 0u);
  const std::string large(limit + 1, 'x');
  absl::Status status;
  this->TurnUntil([&] {
    status = this->Offer(0, large);
    return !absl::IsResourceExhausted(status);
  });
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  this->Close(Clock::now());
  EXPECT_TRUE(this->reports_.reported.empty());
}

TYPED_TEST(SinkContractTest, HealthKnowsTheClusterThatAnswers) {
  this->TurnUntil([&] { return this->sink().Health().brokers_up > 0; });
  this->TurnUntil([&] { return this->sink().Health().cluster_id != ""; });
  const SinkHealth health = this->sink().Health();
  EXPECT_NE(health.heard_at, MonotonicTime());
  EXPECT_NE(health.cluster_id, "");
  EXPECT_EQ(health.trouble, "");
  EXPECT_EQ(health.missing_topic, "");
}

TYPED_TEST(SinkContractTest, P1NothingGoesToAnotherCluster) {
  this->sink().ExpectCluster("another");
  absl::Status status;
  this->TurnUntil([&] {
    status = this->Offer(0, "value");
    return !absl::IsResourceExhausted(status);
  });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace walpost
