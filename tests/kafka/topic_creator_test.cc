// When the brokers are asked to create a topic, and when again. The mock
// brokers do not support that request: their answer is that they cannot tell.
#include "kafka/topics/topic_creator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>

#include "support/mock_kafka.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr MonotonicTime kNow{std::chrono::hours(1)};

class TopicCreatorTest : public ::testing::Test {
 protected:
  TopicCreatorTest() {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", kafka_.brokers().c_str(),
                      nullptr, 0);
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    queue_ = rd_kafka_queue_new(client_);
    creator_ = std::make_unique<TopicCreator>(client_, queue_);
    not_possible_.partitions = 200'000;
  }
  ~TopicCreatorTest() override {
    rd_kafka_queue_destroy(queue_);
    rd_kafka_destroy(client_);
  }

  // True if the brokers were asked, and their answer was taken.
  bool TakeAnswer(MonotonicTime now, int wait_ms = 10'000) {
    rd_kafka_event_t* event = rd_kafka_queue_poll(queue_, wait_ms);
    if (event == nullptr) return false;
    creator_->OnAnswer(event, now);
    rd_kafka_event_destroy(event);
    return true;
  }
  bool WasAsked() { return TakeAnswer(kNow, 300); }

  testing::MockKafka kafka_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_queue_t* queue_ = nullptr;
  std::unique_ptr<TopicCreator> creator_;
  TopicCreation creation_;
  TopicCreation not_possible_;
};

TEST_F(TopicCreatorTest, ARecordWaitsForTheAnswerAndAsksOnce) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        absl::IsResourceExhausted(creator_->MayProduce("t", creation_, kNow)));
  }
  ASSERT_TRUE(TakeAnswer(kNow));
  EXPECT_TRUE(creator_->MayProduce("t", creation_, kNow).ok());
  EXPECT_TRUE(
      creator_->MayProduce("t", creation_, kNow + std::chrono::hours(1)).ok());
  EXPECT_FALSE(WasAsked());
  EXPECT_TRUE(absl::IsResourceExhausted(
      creator_->MayProduce("other", creation_, kNow)));
  EXPECT_TRUE(TakeAnswer(kNow));
}

TEST_F(TopicCreatorTest, ARefusalHoldsForThreeSeconds) {
  const absl::Status refused = creator_->MayProduce("t", not_possible_, kNow);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("topic t cannot be created: "));
  EXPECT_TRUE(absl::IsUnavailable(
      creator_->MayProduce("t", creation_, kNow + milliseconds(2'999))));
  EXPECT_FALSE(WasAsked());
  EXPECT_TRUE(absl::IsUnavailable(
      creator_->MayProduce("t", creation_, kNow + milliseconds(3'000))));
  EXPECT_TRUE(TakeAnswer(kNow + milliseconds(3'000)));
  EXPECT_TRUE(
      creator_->MayProduce("t", creation_, kNow + milliseconds(3'000)).ok());
}

TEST_F(TopicCreatorTest, ARefusalThatIsRepeatedHoldsAgain) {
  EXPECT_FALSE(creator_->MayProduce("t", not_possible_, kNow).ok());
  EXPECT_FALSE(
      creator_->MayProduce("t", not_possible_, kNow + milliseconds(3'000))
          .ok());
  EXPECT_FALSE(
      creator_->MayProduce("t", creation_, kNow + milliseconds(5'999)).ok());
  EXPECT_FALSE(WasAsked());
  EXPECT_FALSE(
      creator_->MayProduce("t", creation_, kNow + milliseconds(6'000)).ok());
  EXPECT_TRUE(TakeAnswer(kNow));
}

TEST_F(TopicCreatorTest, AProbeIsMadeAgainAfterItsAnswerAndItsTime) {
  creator_->Probe("t", kNow);
  creator_->Probe("t", kNow + milliseconds(3'000));
  ASSERT_TRUE(TakeAnswer(kNow));
  EXPECT_FALSE(WasAsked()) << "the first one was not answered then";
  EXPECT_EQ(creator_->RefusalOf("t"), "") << "it is not known";
  creator_->Probe("t", kNow + milliseconds(2'999));
  EXPECT_FALSE(WasAsked());
  creator_->Probe("t", kNow + milliseconds(3'000));
  EXPECT_TRUE(TakeAnswer(kNow));
  creator_->Probe("t", kNow + milliseconds(3'000));
  EXPECT_FALSE(WasAsked());
}

TEST_F(TopicCreatorTest, AProbeCreatesNothing) {
  creator_->Probe("t", kNow);
  ASSERT_TRUE(TakeAnswer(kNow));
  EXPECT_TRUE(
      absl::IsResourceExhausted(creator_->MayProduce("t", creation_, kNow)));
  EXPECT_TRUE(TakeAnswer(kNow));
}

}  // namespace
}  // namespace walpost
