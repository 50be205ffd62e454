// RedisConnection to Redis: keys `redis.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/reloadable_text.h"
#include "loop/tls_options.h"

namespace walpost {

// When an entry counts as durable.
enum class RedisDurability {
  // Redis has synced it to its append-only file.
  kFsync,
  // Redis has it in memory: with `replicas`, in that of several servers.
  kMemory,
};

struct RedisOptions {
  // host:port of the only server. Empty: `sentinels` say which one it is, or
  // the nodes of a Redis Cluster.
  std::string address;
  // host:port of Sentinels, and the name that they know the servers by.
  std::vector<std::string> sentinels = {};
  std::string master;
  // host:port of nodes of a Redis Cluster, which say where each slot is.
  std::vector<std::string> cluster = {};
  // Empty: the user `default`; without a password, no AUTH is sent.
  ReloadableText user;
  ReloadableText password;
  ReloadableText sentinel_user;
  ReloadableText sentinel_password;
  TlsOptions tls;  // for servers and Sentinels
  size_t database = 0;
  RedisDurability durability = RedisDurability::kFsync;
  // Replicas that must have an entry before it is acknowledged (WAIT).
  size_t replicas = 0;
  // Entries that a stream keeps, approximately (MAXLEN ~); 0: all.
  size_t max_entries = 0;
  // False: records to a stream that does not exist wait until it does.
  bool create = true;
  // A larger entry is rejected. Redis itself has a limit of 512 MB per field.
  size_t max_entry_bytes = size_t{32} << 20;
  // Without an answer for this long, the connection is given up.
  std::chrono::milliseconds timeout{10'000};
  std::string client_name = "walpost";
};

}  // namespace walpost
