#include "kafka/producer/producer_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "support/truncation_twin.h"

namespace walpost {
namespace {

using testing::ExactBytes;

// Cut down from a statistics event of librdkafka: two brokers up, one not,
// and "state" in places that do not count.
constexpr std::string_view kStatistics = R"({
  "name": "walpost-orders#producer-1", "client_id": "walpost-orders",
  "type": "producer", "ts": 5016483227792, "time": 1527060869,
  "replyq": 0, "msg_cnt": 22710, "msg_size": 704010, "state": "UP",
  "brokers": {
    "b1:9092/1": {
      "name": "b1:9092/1", "nodeid": 1, "nodename": "b1:9092",
      "source": "configured", "state": "UP", "stateage": 8005652,
      "outbuf_cnt": 0, "rtt": {"min": 1, "avg": 2, "state": "UP"},
      "req": {"Produce": 31, "Metadata": 2},
      "toppars": {"orders-0": {"topic": "orders", "partition": 0,
                               "state": "UP"}}
    },
    "b2:9092/2": {
      "name": "UP", "nodeid": 2, "source": "learned", "state": "UP",
      "toppars": {}
    },
    "b3:9092/3": {
      "name": "state", "nodeid": 3, "source": "learned", "state": "CONNECT",
      "toppars": {"UP-0": {"topic": "UP", "partition": 0}}
    }
  },
  "topics": {
    "state": {"topic": "state", "state": "UP", "age": -1,
              "partitions": {"0": {"partition": 0, "state": "UP",
                                   "brokers": {"x": {"state": "UP"}}}}}
  },
  "cgrp": {"state": "UP", "brokers": {"b9": {"state": "UP"}}},
  "eos": {"idemp_state": "Assigned", "state": "UP", "txn_state": "UP"},
  "tx": 1.5e3, "list": ["UP", {"state": "UP"}, [{"state": "UP"}]]
})";

ProducerStatistics Parse(std::string_view json) {
  return ParseProducerStatistics(json, /*has_topics=*/true);
}

TEST(ProducerStatisticsTest, NamesATopicThatRecordsWaitFor) {
  EXPECT_EQ(Parse(kStatistics).unknown_topic, "");
  constexpr std::string_view kDeleted = R"({"topics": {
    "orders": {"partitions": {"0": {"msgq_cnt": 7}, "-1": {"msgq_cnt": 0}}},
    "invoices": {"partitions": {"-1": {"partition": -1, "msgq_cnt": 3}},
                 "batchcnt": {"-1": {"msgq_cnt": 1}}},
    "shipments": {"partitions": {"-1": {"xmit_msgq_cnt": 9}}}}})";
  EXPECT_EQ(Parse(kDeleted).unknown_topic, "invoices");
}

// They are most of it, and only of use while records wait.
TEST(ProducerStatisticsTest, ReadsUpToTheTopicsOnly) {
  constexpr std::string_view kCut = R"({"brokers": {
    "a": {"nodeid": 4, "state": "UP"}}, "topics": {"orders": {"part)";
  const ProducerStatistics found = ParseProducerStatistics(kCut, false);
  EXPECT_THAT(found.nodes_up, ::testing::ElementsAre(4));
  EXPECT_FALSE(found.is_brokerless);
  EXPECT_EQ(Parse(kCut).brokers_up, 0u) << "it does not parse";
}

TEST(ProducerStatisticsTest, CountsTheBrokersThatAreUpAndNothingElse) {
  EXPECT_EQ(Parse(kStatistics).brokers_up, 2u);
}

TEST(ProducerStatisticsTest, NamesTheNodesThatAreUp) {
  EXPECT_THAT(Parse(kStatistics).nodes_up, ::testing::ElementsAre(1, 2));
  constexpr std::string_view kIdle = R"({"ts": 5, "rxidle": 1, "brokers": {
    "boot": {"nodeid": -1, "state": "UP", "rxidle": -1},
    "a": {"nodeid": 4, "state": "UP", "rxidle": 5000000123},
    "b": {"rxidle": 7000, "rtt": {"nodeid": 2}, "state": "UP", "nodeid": 5},
    "c": {"nodeid": 6, "state": "DOWN", "rxidle": 3}}})";
  const ProducerStatistics idle = Parse(kIdle);
  EXPECT_EQ(idle.brokers_up, 3u);
  EXPECT_THAT(idle.nodes_up, ::testing::ElementsAre(4, 5));
}

TEST(ProducerStatisticsTest, SaysWhenNoBrokerIsLeft) {
  EXPECT_FALSE(Parse(kStatistics).is_brokerless);
  EXPECT_TRUE(Parse(R"({"brokers": {}, "topics": {"a": {}}})").is_brokerless);
  EXPECT_TRUE(Parse(R"({"brokers": {"TxnCoordinator": {
                "nodeid": -1, "source": "logical", "state": "INIT",
                "toppars": {"t-0": {"source": "x"}}}}})")
                  .is_brokerless)
      << "a transactional producer always has this one";
  EXPECT_FALSE(Parse("{}").is_brokerless);
  EXPECT_FALSE(Parse("no JSON").is_brokerless);
}

std::string Brokers(std::string_view coordinator, std::string_view other) {
  return fmt::format(
      R"({{"brokers": {{"a/1": {{"source": "learned", "state": "{1}"}},
          "TxnCoordinator": {{"source": "logical", "state": "{0}"}},
          "a/2": {{"source": "learned", "state": "INIT"}}}}}})",
      coordinator, other);
}

TEST(ProducerStatisticsTest, SaysWhenOnlyTheCoordinatorIsConnected) {
  const auto only = [](std::string_view coordinator, std::string_view other) {
    return Parse(Brokers(coordinator, other)).has_coordinator_only;
  };
  EXPECT_TRUE(only("UP", "INIT"));
  EXPECT_FALSE(only("UP", "UP"));
  EXPECT_FALSE(only("UP", "TRY_CONNECT"));
  EXPECT_FALSE(only("UP", "DOWN"));
  EXPECT_FALSE(only("INIT", "INIT")) << "no transaction, nothing to send";
  EXPECT_FALSE(Parse(kStatistics).has_coordinator_only);
}

struct Row {
  const char* json;
  size_t up;
};

TEST(ProducerStatisticsTest, CountsByStateAlone) {
  const Row rows[] = {
      {"{}", 0},
      {R"({"brokers": {}})", 0},
      {R"({"brokers": {"a": {}}})", 0},
      {R"({"brokers": {"a": {"state": "UP"}}})", 1},
      {R"({"brokers": {"a": {"state": "INIT"}}})", 0},
      {R"({"brokers": {"a": {"state": "DOWN"}}})", 0},
      {R"({"brokers": {"a": {"state": "APIVERSION_QUERY"}}})", 0},
      {R"({"brokers": {"a": {"state": "AUTH_REQ"}}})", 0},
      {R"({"brokers": {"a": {"state": "UPDATE"}}})", 0},
      {R"({"brokers": {"a": {"state": "up"}}})", 0},
      {R"({"brokers": {"a": {"state": "\u0055P"}}})", 1},
      {R"({"brokers": {"a": {"s\u0074ate": "UP"}}})", 1},
      {R"({"brokers": {"a": {"state": null, "x": "UP"}}})", 0},
      {R"({"brokers": {"a": {"state": {"state": "UP"}}}})", 0},
      {R"({"brokers": {"state": "UP"}})", 0},
      {R"({"brokers": "UP", "state": "UP"})", 0},
      {R"({"a": {"brokers": {"state": "UP"}}})", 0},
      {R"({"x": {"a": {"state": "UP"}}, "brokers": {"a": {"x": "UP"}}})", 0},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Parse(row.json).brokers_up, row.up) << row.json;
  }
}

TEST(ProducerStatisticsTest, WhatDoesNotParseCountsNone) {
  for (const std::string_view json :
       {"", " ", "UP", "{", "}", "null}", "[1, 2", "\xff\xfe", "{'a': 1}",
        R"({"brokers": {"a": {"state": "UP"}},})",
        R"({"brokers": {"a": {"state": "UP"}}} x)",
        R"({"brokers": {"a": {"state": "UP"}}}})",
        R"({"brokers": {"a": {"state": "UP"}}, "n": 1e999})"}) {
    EXPECT_EQ(Parse(json).brokers_up, 0u) << json;
  }
}

TEST(ProducerStatisticsTest, OtherKindsOfDocumentsCountNone) {
  for (const std::string_view json : {"null", "1", "\"UP\"", "[]", "[\"UP\"]",
                                      R"([{"brokers": {"a": {}}}])"}) {
    EXPECT_EQ(Parse(json).brokers_up, 0u) << json;
  }
}

TEST(ProducerStatisticsTest, EveryPrefixCountsNone) {
  for (size_t size = 0; size < kStatistics.size(); ++size) {
    const ExactBytes prefix(kStatistics.substr(0, size));
    EXPECT_EQ(Parse(prefix.view()).brokers_up, 0u) << size;
  }
  EXPECT_EQ(Parse(ExactBytes(kStatistics).view()).brokers_up, 2u);
}

TEST(ProducerStatisticsTest, CountsHundreds) {
  std::string json = R"({"brokers": {)";
  for (int i = 0; i < 500; ++i) {
    json += (i == 0 ? "\"b" : ", \"b") + std::to_string(i) +
            (i % 2 == 0 ? R"(": {"state": "UP"})" : R"(": {"state": "DOWN"})");
  }
  EXPECT_EQ(Parse(json + "}}").brokers_up, 250u);
}

}  // namespace
}  // namespace walpost
