// SinkKind: which brokers get the events, and how texts speak of them.
#pragma once

#include <string_view>

#include "base/choices.h"

namespace walpost {

enum class SinkKind { kKafka, kNats, kRabbitmq, kRedis };

// The key `sink`.
inline constexpr Choices<SinkKind, 4> kSinkKinds = {{
    {"kafka", SinkKind::kKafka},
    {"nats", SinkKind::kNats},
    {"rabbitmq", SinkKind::kRabbitmq},
    {"redis", SinkKind::kRedis},
}};

struct SinkWords {
  std::string_view name;         // "Kafka"
  std::string_view server;       // "Kafka broker"
  std::string_view servers;      // "Kafka brokers"
  std::string_view address_key;  // "kafka.brokers"
  std::string_view example;      // of its value
  // What a record needs there: "topic orders", ...
  std::string_view place;
  // ... and how it is made; a format of the address {0} and its name {1}.
  std::string_view how_to_make;
  // The key by which walpost makes it.
  std::string_view creation_key;
  // What an acknowledgement may wait for, as a question.
  std::string_view durable;
};

constexpr SinkWords WordsOf(SinkKind kind) {
  switch (kind) {
    case SinkKind::kNats:
      return {"NATS",
              "NATS server",
              "NATS servers",
              "nats.servers",
              "nats://127.0.0.1:4222",
              "a stream for subject",
              "add the subject to a stream (nats --server {0} stream edit "
              "STREAM --subjects ..., or nats.create_stream)",
              "nats.create_stream",
              "has the stream a leader and a quorum of its replicas"};
    case SinkKind::kRabbitmq:
      return {"RabbitMQ",
              "RabbitMQ node",
              "RabbitMQ nodes",
              "rabbitmq.nodes",
              "127.0.0.1:5672",
              "exchange",
              "declare it, or let walpost do it (rabbitmq.create)",
              "rabbitmq.create",
              "has the quorum queue a leader and a majority of its members"};
    case SinkKind::kRedis:
      return {"Redis",
              "Redis server",
              "Redis servers",
              "redis.address",
              "127.0.0.1:6379",
              "stream",
              "create it (redis-cli -u redis://{0} XGROUP CREATE {1} walpost 0 "
              "MKSTREAM), or set redis.create: true",
              "redis.create",
              "are the replicas connected that redis.durability asks for"};
    case SinkKind::kKafka:
      break;
  }
  return {"Kafka",
          "Kafka broker",
          "Kafka brokers",
          "kafka.brokers",
          "127.0.0.1:9092",
          "topic",
          "create the topic (kafka-topics.sh --bootstrap-server {0} --create "
          "--topic {1}), or let the brokers do it (auto.create.topics.enable)",
          "route.create_topics",
          "is min.insync.replicas met"};
}

}  // namespace walpost
