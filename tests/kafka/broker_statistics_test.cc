#include "kafka/broker_statistics.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(BrokerStatisticsTest, CountsTheBrokersThatAreUpAndNothingElse) {
  EXPECT_EQ(CountBrokersUp(kStatistics), 2u);
}

struct Row {
  const char* json;
  size_t up;
};

TEST(BrokerStatisticsTest, CountsByStateAlone) {
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
    EXPECT_EQ(CountBrokersUp(row.json), row.up) << row.json;
  }
}

TEST(BrokerStatisticsTest, WhatDoesNotParseCountsNone) {
  for (const std::string_view json :
       {"", " ", "UP", "{", "}", "null}", "[1, 2", "\xff\xfe", "{'a': 1}",
        R"({"brokers": {"a": {"state": "UP"}},})",
        R"({"brokers": {"a": {"state": "UP"}}} x)",
        R"({"brokers": {"a": {"state": "UP"}}}})",
        R"({"brokers": {"a": {"state": "UP"}}, "n": 1e999})"}) {
    EXPECT_EQ(CountBrokersUp(json), 0u) << json;
  }
}

TEST(BrokerStatisticsTest, OtherKindsOfDocumentsCountNone) {
  for (const std::string_view json : {"null", "1", "\"UP\"", "[]", "[\"UP\"]",
                                      R"([{"brokers": {"a": {}}}])"}) {
    EXPECT_EQ(CountBrokersUp(json), 0u) << json;
  }
}

TEST(BrokerStatisticsTest, EveryPrefixCountsNone) {
  for (size_t size = 0; size < kStatistics.size(); ++size) {
    const ExactBytes prefix(kStatistics.substr(0, size));
    EXPECT_EQ(CountBrokersUp(prefix.view()), 0u) << size;
  }
  EXPECT_EQ(CountBrokersUp(ExactBytes(kStatistics).view()), 2u);
}

TEST(BrokerStatisticsTest, CountsHundreds) {
  std::string json = R"({"brokers": {)";
  for (int i = 0; i < 500; ++i) {
    json += (i == 0 ? "\"b" : ", \"b") + std::to_string(i) +
            (i % 2 == 0 ? R"(": {"state": "UP"})" : R"(": {"state": "DOWN"})");
  }
  EXPECT_EQ(CountBrokersUp(json + "}}"), 250u);
}

}  // namespace
}  // namespace walpost
