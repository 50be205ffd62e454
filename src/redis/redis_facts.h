// RedisFacts: what a Redis server says about itself, and whether entries are
// as durable there as the configuration wants it.
//
// From the replies of INFO and CONFIG GET. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "redis/options.h"

namespace walpost {

struct RedisFacts {
  // `info`: the text of INFO.
  static RedisFacts Of(std::string_view info);
  // Adds the names and values of CONFIG GET.
  void AddConfig(const std::vector<std::string_view>& pairs);

  // Like "7.0.15"; Valkey says the version of Redis that it is compatible with.
  std::string version;
  int major = 0;
  int minor = 0;
  bool is_master = false;
  bool is_cluster = false;
  bool is_sentinel = false;
  bool is_loading = false;
  uint32_t replicas = 0;  // connected
  bool has_append_only_file = false;
  uint64_t max_memory_bytes = 0;
  std::string eviction;  // maxmemory-policy
  // nullopt: CONFIG is not permitted.
  std::optional<std::string> append_fsync;
  std::optional<std::string> skips_fsync_on_rewrite;  // "yes", "no"

  // WAITAOF tells when an entry is synced; before it, only the setting does.
  bool has_wait_aof() const { return IsAtLeast(7, 2); }
  // An answer to a command means that its write is synced.
  bool SyncsBeforeAnswers() const;
  bool IsAtLeast(int wanted_major, int wanted_minor) const {
    return major > wanted_major ||
           (major == wanted_major && minor >= wanted_minor);
  }
};

// Reasons not to write to the server (errors), and what weakens it.
Findings JudgeServer(const RedisFacts& facts, const RedisOptions& options,
                     const std::string& subject);

}  // namespace walpost
