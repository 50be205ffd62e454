#include "kafka/producer/producer_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Properties = std::vector<std::pair<std::string, ReloadableText>>;

absl::StatusOr<KafkaConf> Make(Properties properties) {
  ProducerOptions options;
  options.brokers = "b1:9092,b2:9092";
  options.properties = std::move(properties);
  options.client_id = "walpost-orders";
  options.max_records = 1'000;
  return MakeProducerConf(options);
}

std::string Get(const absl::StatusOr<KafkaConf>& conf, const char* name) {
  if (!conf.ok()) return conf.status().ToString();
  std::array<char, 512> value;
  size_t size = value.size();
  const rd_kafka_conf_res_t result =
      rd_kafka_conf_get(conf->get(), name, value.data(), &size);
  if (result != RD_KAFKA_CONF_OK) return "no such property";
  return value.data();
}

struct Row {
  const char* name;
  const char* value;
};

TEST(ProducerPropertiesTest, SetsWhatDeliveryStandsOn) {
  const Row rows[] = {
      {"enable.idempotence", "true"},    {"enable.gapless.guarantee", "true"},
      {"message.timeout.ms", "0"},       {"acks", "-1"},
      {"partitioner", "murmur2_random"}, {"log.queue", "true"},
  };
  const auto conf = Make({});
  for (const Row& row : rows) {
    EXPECT_EQ(Get(conf, row.name), row.value) << row.name;
  }
}

TEST(ProducerPropertiesTest, SetsWhatTheOptionsSay) {
  const auto conf = Make({});
  EXPECT_EQ(Get(conf, "bootstrap.servers"), "b1:9092,b2:9092");
  EXPECT_EQ(Get(conf, "client.id"), "walpost-orders");
}

constexpr Row kDefaults[] = {
    {"linger.ms", "0"},
    {"compression.type", "none"},
    {"message.max.bytes", "1048500"},
    {"socket.nagle.disable", "true"},
    {"socket.keepalive.enable", "true"},
    {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "1000"},
    {"socket.timeout.ms", "30000"},
    {"topic.metadata.refresh.interval.ms", "10000"},
    {"statistics.interval.ms", "12000"},
};

TEST(ProducerPropertiesTest, HasDefaultsOfItsOwn) {
  const auto conf = Make({});
  for (const Row& row : kDefaults) {
    EXPECT_EQ(Get(conf, row.name), row.value) << row.name;
  }
}

TEST(ProducerPropertiesTest, TheUsersValueWins) {
  const Row rows[] = {
      {"linger.ms", "25"},
      {"compression.type", "zstd"},
      {"message.max.bytes", "10485760"},
      {"socket.nagle.disable", "false"},
      {"socket.keepalive.enable", "false"},
      {"reconnect.backoff.ms", "200"},
      {"reconnect.backoff.max.ms", "5000"},
      {"socket.timeout.ms", "10000"},
      {"topic.metadata.refresh.interval.ms", "60000"},
      {"statistics.interval.ms", "1000"},
      {"batch.size", "500000"},
      {"batch.num.messages", "100"},
      {"debug", "broker,eos"},
      {"security.protocol", "ssl"},
      {"sasl.username", "u"},
      {"sasl.password", "p"},
      {"ssl.ca.location", "/dev/null"},
      {"request.timeout.ms", "5000"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Get(Make({{row.name, row.value}}), row.name), row.value);
  }
}

TEST(ProducerPropertiesTest, SaslNeedsAMechanismAndOAuthASourceOfTokens) {
  const struct {
    Properties properties;
    const char* missing;  // nullptr: nothing
  } kRows[] = {
      {{}, "sasl.mechanism"},
      {{{"sasl.mechanism", "PLAIN"}}, nullptr},
      {{{"sasl.mechanisms", "PLAIN"}}, nullptr},
      {{{"sasl.mechanism", "OAUTHBEARER"}}, "sasl.oauthbearer.method"},
      {{{"sasl.mechanism", "OAUTHBEARER"},
        {"sasl.oauthbearer.method", "default"}},
       "sasl.oauthbearer.method"},
      {{{"sasl.mechanism", "OAUTHBEARER"}, {"sasl.oauthbearer.method", "oidc"}},
       nullptr},
      {{{"sasl.mechanism", "OAUTHBEARER"},
        {"enable.sasl.oauthbearer.unsecure.jwt", "true"}},
       nullptr},
      {{{"sasl.mechanism", "OAUTHBEARER"},
        {"enable.sasl.oauthbearer.unsecure.jwt", "false"}},
       "sasl.oauthbearer.method"},
  };
  for (const auto& row : kRows) {
    Properties properties = row.properties;
    properties.emplace_back("security.protocol", "SASL_SSL");
    const auto conf = Make(properties);
    EXPECT_EQ(conf.ok(), row.missing == nullptr);
    if (row.missing == nullptr) continue;
    EXPECT_THAT(std::string(conf.status().message()), HasSubstr(row.missing));
  }
}

TEST(ProducerPropertiesTest, ATokenCommandIsTheOnlyLogin) {
  const struct {
    Properties properties;
    const char* says;  // nullptr: nothing
  } kRows[] = {
      {{{"security.protocol", "SASL_SSL"}}, nullptr},
      {{{"security.protocol", "sasl_plaintext"}}, nullptr},
      {{{"security.protocol", "SASL_SSL"}, {"sasl.mechanism", "OAUTHBEARER"}},
       nullptr},
      {{}, "set security.protocol to SASL_SSL"},
      {{{"security.protocol", "SSL"}}, "set security.protocol to SASL_SSL"},
      {{{"security.protocol", "SASL_SSL"}, {"sasl.mechanisms", "PLAIN"}},
       "sasl.mechanism is PLAIN"},
      {{{"security.protocol", "SASL_SSL"}, {"sasl.username", "u"}},
       "'sasl.username' is of another login"},
      {{{"security.protocol", "SASL_SSL"}, {"sasl.password", "s3cr3t"}},
       "'sasl.password' is of another login"},
      {{{"security.protocol", "SASL_SSL"}, {"sasl.oauthbearer.method", "oidc"}},
       "'sasl.oauthbearer.method' is of another login"},
      {{{"security.protocol", "SASL_SSL"},
        {"enable.sasl.oauthbearer.unsecure.jwt", "true"}},
       "is of another login"},
  };
  for (const auto& row : kRows) {
    ProducerOptions options;
    options.brokers = "b1:9092";
    options.token_command = {"sign"};
    options.properties = row.properties;
    const absl::Status status = MakeProducerConf(options).status();
    EXPECT_EQ(status.ok(), row.says == nullptr) << status;
    if (row.says == nullptr) continue;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.says));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cr3t")));
  }
}

TEST(ProducerPropertiesTest, AnAliasWinsAsWell) {
  EXPECT_EQ(Get(Make({{"queue.buffering.max.ms", "25"}}), "linger.ms"), "25");
  EXPECT_EQ(Get(Make({{"compression.codec", "gzip"}}), "compression.type"),
            "gzip");
}

TEST(ProducerPropertiesTest, TheLastOfTwoValuesWins) {
  EXPECT_EQ(Get(Make({{"linger.ms", "1"}, {"linger.ms", "2"}}), "linger.ms"),
            "2");
}

TEST(ProducerPropertiesTest, LeavesTheOtherPropertiesAlone) {
  const auto conf = Make({{"linger.ms", "25"}});
  EXPECT_EQ(Get(conf, "enable.idempotence"), "true");
  EXPECT_EQ(Get(conf, "message.timeout.ms"), "0");
  EXPECT_EQ(Get(conf, "statistics.interval.ms"), "12000");
}

// Values that librdkafka would take: what counts is whose they are.
constexpr Row kOurs[] = {
    {"enable.idempotence", "false"},
    {"enable.gapless.guarantee", "false"},
    {"message.timeout.ms", "300000"},
    {"delivery.timeout.ms", "300000"},
    {"acks", "1"},
    {"request.required.acks", "1"},
    {"partitioner", "random"},
    {"log.queue", "false"},
    {"bootstrap.servers", "x:9092"},
    {"metadata.broker.list", "x:9092"},
    {"client.id", "x"},
    {"retries", "1"},
    {"message.send.max.retries", "1"},
    {"max.in.flight", "100"},
    {"max.in.flight.requests.per.connection", "100"},
    {"transactional.id", "x"},
    {"queue.buffering.max.messages", "1"},
    {"queue.buffering.max.kbytes", "1"},
    {"queuing.strategy", "lifo"},
    {"delivery.report.only.error", "true"},
    {"dr_cb", "x"},
    {"dr_msg_cb", "x"},
    {"opaque", "x"},
    {"enabled_events", "0"},
};

TEST(ProducerPropertiesTest, RefusesWhatIsOursAndNamesIt) {
  for (const Row& row : kOurs) {
    for (const char* value : {row.value, "", "nonsense"}) {
      const absl::Status status = Make({{row.name, value}}).status();
      EXPECT_TRUE(absl::IsInvalidArgument(status))
          << row.name << ": " << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("'" + std::string(row.name) + "'"));
    }
  }
}

TEST(ProducerPropertiesTest, RefusesWhatIsOursEvenAtItsOwnValue) {
  EXPECT_TRUE(absl::IsInvalidArgument(Make({{"acks", "all"}}).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Make({{"enable.idempotence", "true"}}).status()));
}

TEST(ProducerPropertiesTest, WhatLibrdkafkaDoesNotTakeIsForAnOperator) {
  const Row rows[] = {
      {"no.such.property", "x"},
      {"Linger.ms", "5"},
      {"", "x"},
      {" linger.ms", "5"},
      {"linger.ms", "soon"},
      {"linger.ms", "-1"},
      {"compression.type", "zip"},
      {"message.max.bytes", "1"},
      {"security.protocol", "tls"},
      {"acks ", "1"},
      {"debug", "everything"},
      {"socket.keepalive.enable", "maybe"},
  };
  for (const Row& row : rows) {
    const absl::Status status = Make({{row.name, row.value}}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status))
        << row.name << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("'" + std::string(row.name) + "'"));
  }
}

TEST(ProducerPropertiesTest, AMessageHoldsNoValue) {
  for (const char* name : {"sasl.pasword", "linger.ms", "acks",
                           "security.protocol", "compression.type"}) {
    const absl::Status status = Make({{name, "hunter2"}}).status();
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
  }
}

TEST(ProducerPropertiesTest, TheQueueTakesMoreRecordsThanTheWindow) {
  EXPECT_EQ(Get(Make({}), "queue.buffering.max.messages"), "2000");
}

// delivery.max_in_flight_bytes may be 4 GiB.
TEST(ProducerPropertiesTest, TheQueueTakesMoreBytesThanTheWindow) {
  const std::string kilobytes = Get(Make({}), "queue.buffering.max.kbytes");
  EXPECT_GT(std::stoull(kilobytes) << 10, uint64_t{4} << 30);
}

TEST(ProducerPropertiesTest, LibrdkafkaMakesAProducerOfIt) {
  for (const Properties& properties :
       {Properties{}, Properties{{"linger.ms", "1000"}},
        Properties{{"compression.type", "gzip"}, {"debug", "eos"}}}) {
    absl::StatusOr<KafkaConf> conf = Make(properties);
    ASSERT_TRUE(conf.ok()) << conf.status();
    char reason[512] = "";
    rd_kafka_t* client =
        rd_kafka_new(RD_KAFKA_PRODUCER, conf->get(), reason, sizeof(reason));
    ASSERT_NE(client, nullptr) << reason;
    (void)conf->release();  // librdkafka owns it now
    rd_kafka_destroy(client);
  }
}

}  // namespace
}  // namespace walpost
