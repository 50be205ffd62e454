#include "kafka/checks/silent_brokers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include "kafka/client/handles.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kMillis = 1'500;

class SilentBrokersTest : public ::testing::Test {
 protected:
  SilentBrokersTest()
      : client_(
            rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0)),
        cluster_(rd_kafka_mock_cluster_new(client_.get(), 2)) {
    rd_kafka_brokers_add(client_.get(),
                         rd_kafka_mock_cluster_bootstraps(cluster_));
    const rd_kafka_metadata_t* all = nullptr;
    EXPECT_EQ(rd_kafka_metadata(client_.get(), 1, nullptr, &all, 10'000),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    metadata_.reset(all);
  }
  ~SilentBrokersTest() override { rd_kafka_mock_cluster_destroy(cluster_); }

  std::set<int32_t> Silent() {
    return FindSilentBrokers(client_.get(), metadata_->brokers, 2, kMillis);
  }

  KafkaClient client_;
  rd_kafka_mock_cluster_t* cluster_;
  KafkaHandle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy> metadata_;
};

TEST_F(SilentBrokersTest, ARefusalIsAnAnswer) {
  EXPECT_THAT(Silent(), IsEmpty());
}

TEST_F(SilentBrokersTest, TheOneThatCannotBeReachedIsNamed) {
  rd_kafka_mock_broker_set_down(cluster_, 2);
  EXPECT_THAT(Silent(), ElementsAre(2));
}

}  // namespace
}  // namespace walpost
