// The contract of delivery/record_sink.h, held by every sink. Each room's test
// instantiates it:
//
//   class NatsHarness {
//    public:
//     explicit NatsHarness(CountingReports& reports);
//     Sink& sink();
//     void Turn();     // lets a few milliseconds of the loop pass
//     void Silence();  // the brokers answer nothing from now on
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Nats, SinkContractTest, NatsHarness);
//
// Records go to kContractTopic, which the harness provides.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "delivery/record_sink.h"

namespace walpost::testing {

inline constexpr char kContractTopic[] = "t";
inline constexpr Sequence kContractRecords = 20;

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

template <typename Harness>
class SinkContractTest : public ::testing::Test {
 protected:
  Sink& sink() { return harness_.sink(); }

  absl::Status Offer(Sequence sequence, const std::string& value) {
    Record record;
    record.topic = kContractTopic;
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
    const MonotonicTime limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
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
    ASSERT_EQ(reports_.reported.size(), kContractRecords);
    for (const auto& [sequence, count] : reports_.reported) {
      EXPECT_EQ(count, 1) << sequence;
    }
  }

  CountingReports reports_;
  Harness harness_{reports_};
};

TYPED_TEST_SUITE_P(SinkContractTest);

TYPED_TEST_P(SinkContractTest, EveryAcceptedRecordIsReportedOnce) {
  for (Sequence i = 0; i < kContractRecords; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->Produce(i));
  }
  this->TurnUntil(
      [&] { return this->reports_.reported.size() == kContractRecords; });
  this->ExpectOneReportEach();
  EXPECT_EQ(this->reports_.acknowledged, kContractRecords);
}

TYPED_TEST_P(SinkContractTest, CloseWaitsForTheBrokers) {
  for (Sequence i = 0; i < kContractRecords; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->Produce(i));
  }
  this->Close(std::chrono::steady_clock::now() + std::chrono::seconds(15));
  this->ExpectOneReportEach();
  EXPECT_EQ(this->reports_.acknowledged, kContractRecords);
  EXPECT_FALSE(this->Offer(kContractRecords, "late").ok());
}

TYPED_TEST_P(SinkContractTest, CloseGivesUpSilentBrokersAtItsDeadline) {
  // The first record of a partition is alone.
  ASSERT_NO_FATAL_FAILURE(this->Produce(0));
  this->TurnUntil([&] { return this->reports_.acknowledged == 1; });
  this->harness_.Silence();
  for (Sequence i = 1; i < kContractRecords; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->Produce(i));
  }
  this->Close(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  this->ExpectOneReportEach();
  EXPECT_EQ(this->reports_.acknowledged, 1u);
  EXPECT_TRUE(absl::IsAborted(this->reports_.not_delivered))
      << this->reports_.not_delivered;
}

TYPED_TEST_P(SinkContractTest, ATooLargeRecordIsRejectedAtOnce) {
  const size_t limit = this->sink().capabilities().max_record_bytes;
  ASSERT_GT(limit, 0u);
  const std::string large(limit + 1, 'x');
  absl::Status status;
  this->TurnUntil([&] {
    status = this->Offer(0, large);
    return !absl::IsResourceExhausted(status);
  });
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  this->Close(std::chrono::steady_clock::now());
  EXPECT_TRUE(this->reports_.reported.empty());
}

TYPED_TEST_P(SinkContractTest, HealthKnowsTheClusterThatAnswers) {
  this->TurnUntil([&] { return this->sink().Health().brokers_up > 0; });
  this->TurnUntil([&] { return this->sink().Health().cluster_id != ""; });
  const SinkHealth health = this->sink().Health();
  EXPECT_NE(health.heard_at, MonotonicTime());
  EXPECT_NE(health.cluster_id, "");
  EXPECT_EQ(health.trouble, "");
  EXPECT_EQ(health.missing_topic, "");
}

TYPED_TEST_P(SinkContractTest, P1NothingGoesToAnotherCluster) {
  this->sink().ExpectCluster("another");
  absl::Status status;
  this->TurnUntil([&] {
    status = this->Offer(0, "value");
    return !absl::IsResourceExhausted(status);
  });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

REGISTER_TYPED_TEST_SUITE_P(SinkContractTest, EveryAcceptedRecordIsReportedOnce,
                            CloseWaitsForTheBrokers,
                            CloseGivesUpSilentBrokersAtItsDeadline,
                            ATooLargeRecordIsRejectedAtOnce,
                            HealthKnowsTheClusterThatAnswers,
                            P1NothingGoesToAnotherCluster);

}  // namespace walpost::testing
