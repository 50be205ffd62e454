// What librdkafka does when a client is destroyed while it takes an answer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "kafka/client/admin_request.h"
#include "support/mock_kafka.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{1};
constexpr milliseconds kUntilDestroyed{200};

// The thread of the client logs that it takes an answer, and waits here.
void HoldAnswer(const rd_kafka_t* client, int /*level*/, const char* /*fac*/,
                const char* line) {
  if (std::strstr(line, "called in state waiting for response") == nullptr) {
    return;
  }
  *static_cast<std::atomic<bool>*>(rd_kafka_opaque(client)) = true;
  std::this_thread::sleep_for(kUntilDestroyed);
}

class ClosedClientTest : public ::testing::Test {
 protected:
  ClosedClientTest() {
    kafka_.CreateTopic("t", 1);
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", kafka_.brokers().c_str(),
                      nullptr, 0);
    rd_kafka_conf_set(conf, "enable.metrics.push", "false", nullptr, 0);
    rd_kafka_conf_set(conf, "debug", "admin", nullptr, 0);
    rd_kafka_conf_set_log_cb(conf, HoldAnswer);
    rd_kafka_conf_set_opaque(conf, &takes_answer_);
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    queue_.reset(rd_kafka_queue_new(client_));
  }

  void DestroyOnceAnswered() {
    while (!takes_answer_) std::this_thread::sleep_for(kPoll);
    queue_.reset();
    rd_kafka_destroy(client_);
  }

  testing::MockKafka kafka_;
  std::atomic<bool> takes_answer_ = false;
  rd_kafka_t* client_;
  KafkaQueue queue_;
};

TEST_F(ClosedClientTest, ADescriptionOfTopicsThatComesLateIsNoCrash) {
  AdminRequest(client_, queue_.get()).DescribeTopics({"t"});
  DestroyOnceAnswered();
}

TEST_F(ClosedClientTest, ADescriptionOfTheClusterThatComesLateIsNoCrash) {
  rd_kafka_DescribeCluster(client_, nullptr, queue_.get());
  DestroyOnceAnswered();
}

}  // namespace
}  // namespace walpost
