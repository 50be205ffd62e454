#include "redis/redis_facts.h"

#include <charconv>

#include "fmt/format.h"
#include "redis/redis_error.h"

namespace walpost {
namespace {

// The ids `<milliseconds>-*`, and XINFO's newest id, came with it.
constexpr int kMinMajor = 7;
constexpr char kNotDurable[] = "redis_not_durable";

template <typename Number>
void ReadNumber(std::string_view text, Number& number) {
  std::from_chars(text.data(), text.data() + text.size(), number);
}

constexpr std::string_view kSyncAlways =
    "CONFIG SET appendonly yes, CONFIG SET appendfsync always, and CONFIG "
    "REWRITE; or spell out a weaker choice: redis.durability: memory";

void JudgeDurability(const RedisFacts& facts, const RedisOptions& options,
                     const std::string& subject, Findings& findings) {
  const auto add = [&](Severity severity, FindingId id, std::string text,
                       std::string remedy) {
    findings.push_back(
        {severity, std::move(id), subject, std::move(text), std::move(remedy)});
  };
  if (options.durability == RedisDurability::kMemory) {
    if (options.replicas > 0) return;
    add(Severity::kWarning, FindingId("redis_memory_only"),
        "acknowledges entries that are in the memory of one server "
        "(redis.durability: memory, redis.replicas: 0): events are lost if it "
        "crashes",
        "redis.durability: fsync; or redis.replicas: the number of replicas");
    return;
  }
  if (!facts.has_append_only_file) {
    add(Severity::kError, FindingId(kNotDurable),
        "has no append-only file (appendonly no), and redis.durability is "
        "fsync: entries would be lost if it crashes",
        std::string(kSyncAlways));
  } else if (facts.has_wait_aof() || facts.SyncsBeforeAnswers()) {
    return;
  } else if (!facts.append_fsync) {
    add(Severity::kError, FindingId(kNotDurable),
        "does not say whether it syncs its append-only file before it answers "
        "(CONFIG GET is not permitted), and redis.durability is fsync",
        fmt::format("ACL SETUSER {} +config|get; or redis.durability: memory",
                    RedisUserOf(options)));
  } else {
    add(Severity::kError, FindingId(kNotDurable),
        fmt::format("answers before its append-only file is synced "
                    "(appendfsync {}, no-appendfsync-on-rewrite {}), and "
                    "redis.durability is fsync",
                    *facts.append_fsync,
                    facts.skips_fsync_on_rewrite.value_or("no")),
        facts.append_fsync == "always"
            ? "CONFIG SET no-appendfsync-on-rewrite no, and CONFIG REWRITE"
            : std::string(kSyncAlways));
  }
}

}  // namespace

RedisFacts RedisFacts::Of(std::string_view info) {
  RedisFacts facts;
  while (!info.empty()) {
    std::string_view line = info.substr(0, info.find('\n'));
    info.remove_prefix(std::min(info.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 1);
    if (name == "redis_version") {
      facts.version = value;
      ReadNumber(value, facts.major);
      const size_t dot = value.find('.');
      if (dot != std::string_view::npos) {
        ReadNumber(value.substr(dot + 1), facts.minor);
      }
    } else if (name == "redis_mode") {
      facts.is_sentinel = value == "sentinel";
    } else if (name == "role") {
      facts.is_master = value == "master";
    } else if (name == "cluster_enabled") {
      facts.is_cluster = value == "1";
    } else if (name == "loading") {
      facts.is_loading = value == "1";
    } else if (name == "connected_slaves") {
      ReadNumber(value, facts.replicas);
    } else if (name == "aof_enabled") {
      facts.has_append_only_file = value == "1";
    } else if (name == "maxmemory") {
      ReadNumber(value, facts.max_memory_bytes);
    } else if (name == "maxmemory_policy") {
      facts.eviction = value;
    }
  }
  return facts;
}

void RedisFacts::AddConfig(const std::vector<std::string_view>& pairs) {
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i] == "appendfsync") append_fsync = pairs[i + 1];
    if (pairs[i] == "no-appendfsync-on-rewrite") {
      skips_fsync_on_rewrite = pairs[i + 1];
    }
    if (pairs[i] == "appendonly") has_append_only_file = pairs[i + 1] == "yes";
  }
}

bool RedisFacts::SyncsBeforeAnswers() const {
  return has_append_only_file && append_fsync == "always" &&
         skips_fsync_on_rewrite != "yes";
}

Findings JudgeServer(const RedisFacts& facts, const RedisOptions& options,
                     const std::string& subject) {
  Findings findings;
  const auto add = [&](Severity severity, FindingId id, std::string text,
                       std::string remedy) {
    findings.push_back(
        {severity, std::move(id), subject, std::move(text), std::move(remedy)});
  };
  if (!facts.IsAtLeast(kMinMajor, 0)) {
    add(Severity::kError, FindingId("redis_version_unsupported"),
        fmt::format("is version {}, and walpost needs Redis 7.0, or a "
                    "compatible server",
                    facts.version),
        "upgrade the server");
    return findings;
  }
  if (facts.is_sentinel) {
    add(Severity::kError, FindingId("redis_is_sentinel"),
        "is a Sentinel, which keeps no streams",
        "redis.sentinels: [its address, and those of others] and redis.master, "
        "in place of redis.address");
    return findings;
  }
  if (facts.is_cluster && options.cluster.empty()) {
    add(Severity::kError, FindingId("redis_is_cluster"),
        "is a node of a Redis Cluster",
        "redis.cluster: [its address, and those of other nodes], in place of "
        "redis.address");
    return findings;
  }
  if (!facts.is_master) {
    add(Severity::kError, FindingId("redis_replica"),
        "is a replica, which takes no writes",
        "redis.address: that of its master; or redis.sentinels");
    return findings;
  }
  JudgeDurability(facts, options, subject, findings);
  if (facts.replicas < options.replicas) {
    add(Severity::kWarning, FindingId("redis_replicas_missing"),
        fmt::format("has {} connected replica(s), and redis.replicas is {}: "
                    "entries are not acknowledged until there are more",
                    facts.replicas, options.replicas),
        "start the replicas, or lower redis.replicas");
  }
  if (facts.max_memory_bytes > 0 && facts.eviction.starts_with("allkeys-")) {
    add(Severity::kWarning, FindingId("redis_evicts_streams"),
        fmt::format("deletes whole streams when it reaches maxmemory "
                    "(maxmemory-policy {})",
                    facts.eviction),
        "CONFIG SET maxmemory-policy noeviction, and CONFIG REWRITE");
  }
  return findings;
}

}  // namespace walpost
