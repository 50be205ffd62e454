// The credentials of the sinks beside Kafka, by their keys: what a reload takes
// up while walpost runs.
#pragma once

#include <map>
#include <string>

#include "base/reloadable_text.h"
#include "config/config.h"

namespace walpost {

// Valid as long as `config`. Properties of Kafka are taken up one by one
// (live_config.h).
inline std::map<std::string, ReloadableText*> SinkCredentials(Config& config) {
  RabbitmqOptions& rabbitmq = config.rabbitmq;
  RedisOptions& redis = config.redis;
  return {
      {"nats.user", &config.nats.user},
      {"nats.password", &config.nats.password},
      {"nats.token", &config.nats.token},
      {"rabbitmq.user", &rabbitmq.user},
      {"rabbitmq.password", &rabbitmq.password},
      {"redis.user", &redis.user},
      {"redis.password", &redis.password},
      {"redis.sentinel_user", &redis.sentinel_user},
      {"redis.sentinel_password", &redis.sentinel_password},
  };
}

}  // namespace walpost
