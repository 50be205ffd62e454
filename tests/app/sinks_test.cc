// Each kind of brokers by its configuration: how it is reached, what it can be
// asked, and what is refused by name.
#include "app/sink/sinks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "base/kafka_cluster.h"
#include "support/mock_kafka.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SinksTest : public ::testing::Test {
 protected:
  SinksTest() {
    config_.kafka.brokers = "kafka:9092";
    config_.nats.servers = "nats://nats:4222";
    config_.rabbitmq.nodes = "rabbit:5672";
    config_.redis.address = "redis:6379";
  }
  Config With(SinkKind kind) const {
    Config config = config_;
    config.sink = kind;
    return config;
  }
  static std::string TextOf(const absl::Status& status) {
    return std::string(status.message());
  }

  boost::asio::io_context io_;
  Config config_;
};

TEST_F(SinksTest, EachKindHasItsAddress) {
  EXPECT_EQ(SinkAddress(With(SinkKind::kKafka)), "kafka:9092");
  EXPECT_EQ(SinkAddress(With(SinkKind::kNats)), "nats://nats:4222");
  EXPECT_EQ(SinkAddress(With(SinkKind::kRabbitmq)), "rabbit:5672");
  EXPECT_EQ(SinkAddress(With(SinkKind::kRedis)), "redis:6379");
  config_.redis.address.clear();
  config_.redis.sentinels = {"a:26379", "b:26379"};
  EXPECT_EQ(SinkAddress(With(SinkKind::kRedis)), "a:26379,b:26379");
  config_.redis.cluster = {"c:6379", "d:6379"};
  EXPECT_EQ(SinkAddress(With(SinkKind::kRedis)), "c:6379,d:6379");
}

TEST_F(SinksTest, AMissingAddressIsNamedByItsKey) {
  for (const auto& [kind, key] :
       {std::pair(SinkKind::kKafka, "kafka.brokers"),
        std::pair(SinkKind::kNats, "nats.servers"),
        std::pair(SinkKind::kRabbitmq, "rabbitmq.nodes"),
        std::pair(SinkKind::kRedis, "redis.address")}) {
    EXPECT_TRUE(RequireSink(With(kind)).ok()) << key;
    Config empty;
    empty.sink = kind;
    const absl::Status missing = RequireSink(empty);
    EXPECT_TRUE(absl::IsInvalidArgument(missing)) << missing;
    EXPECT_THAT(TextOf(missing), HasSubstr(std::string(key) + " is missing"));
  }
}

TEST_F(SinksTest, OnlyAQueueIsNotReadBack) {
  for (const SinkKind kind :
       {SinkKind::kKafka, SinkKind::kNats, SinkKind::kRedis}) {
    EXPECT_TRUE(RequireReadableSink(With(kind), "verify", "").ok());
    EXPECT_NE(RecordsOf(With(kind)), nullptr);
  }
  const Config rabbitmq = With(SinkKind::kRabbitmq);
  const absl::Status refused =
      RequireReadableSink(rabbitmq, "verify", "Use the table");
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(TextOf(refused), HasSubstr("verify reads back what was sent, and "
                                         "with sink: rabbitmq it cannot"));
  EXPECT_THAT(TextOf(refused), HasSubstr(". Use the table"));
  EXPECT_EQ(RecordsOf(rabbitmq), nullptr);
}

TEST_F(SinksTest, OnlyKafkaHasTransactionsAndARecordOfThem) {
  EXPECT_TRUE(RequireKafka(With(SinkKind::kKafka), "shadow", "").ok());
  EXPECT_NE(MakeRecordReader(With(SinkKind::kKafka)), nullptr);
  for (const SinkKind kind :
       {SinkKind::kNats, SinkKind::kRabbitmq, SinkKind::kRedis}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(RequireKafka(With(kind), "shadow", "")));
    EXPECT_EQ(MakeRecordReader(With(kind)), nullptr);
  }
}

TEST_F(SinksTest, OptionsAreThoseOfTheKind) {
  config_.rabbitmq.vhost.clear();
  config_.redis.cluster = {"c:6379"};
  EXPECT_TRUE(CheckSinkOptions(With(SinkKind::kKafka)).ok());
  EXPECT_TRUE(CheckSinkOptions(With(SinkKind::kNats)).ok());
  EXPECT_THAT(TextOf(CheckSinkOptions(With(SinkKind::kRabbitmq))),
              HasSubstr("rabbitmq.vhost"));
  EXPECT_THAT(TextOf(CheckSinkOptions(With(SinkKind::kRedis))),
              HasSubstr("redis"));
  config_.kafka.properties.emplace_back("enable.idempotence", "false");
  EXPECT_THAT(TextOf(CheckSinkOptions(With(SinkKind::kKafka))),
              HasSubstr("enable.idempotence"));
}

TEST_F(SinksTest, AClusterIsNamedOrKnownByItsKind) {
  testing::MockKafka kafka;
  config_.kafka.brokers = kafka.brokers();
  const auto cluster = FindClusterId(With(SinkKind::kKafka));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_THAT(*cluster, HasSubstr("mock"));
  EXPECT_EQ(FindClusterId(With(SinkKind::kNats)).value(), kUnnamedNats);
  EXPECT_EQ(FindClusterId(With(SinkKind::kRedis)).value(), kUnnamedRedis);
  config_.rabbitmq.nodes = "127.0.0.1:1";
  const auto silent = FindClusterId(With(SinkKind::kRabbitmq));
  EXPECT_TRUE(absl::IsUnavailable(silent.status())) << silent.status();
}

TEST_F(SinksTest, OnlyKafkaHasTopicsThatAreReplaced) {
  for (const SinkKind kind :
       {SinkKind::kNats, SinkKind::kRabbitmq, SinkKind::kRedis}) {
    const auto knowledge = MakeSinkKnowledge(io_.get_executor(), With(kind));
    EXPECT_THAT(knowledge->topics(), IsEmpty());
    EXPECT_THAT(knowledge->replaced_topic(), IsEmpty());
  }
}

}  // namespace
}  // namespace walpost
