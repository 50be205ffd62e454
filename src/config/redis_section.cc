#include "config/redis_section.h"

#include "base/choices.h"
#include "config/tls_section.h"

namespace walpost {
namespace {

constexpr Choices<RedisDurability, 2> kDurabilities = {{
    {"fsync", RedisDurability::kFsync},
    {"memory", RedisDurability::kMemory},
}};

constexpr size_t kMaxDatabase = 1'000;
constexpr size_t kMaxReplicas = 100;
constexpr size_t kMaxEntries = size_t{1} << 40;
constexpr size_t kMaxEntryBytes = size_t{512} << 20;  // proto-max-bulk-len
constexpr std::chrono::milliseconds kMinTimeout{2'000};
constexpr std::chrono::milliseconds kMaxTimeout{300'000};

}  // namespace

void ReadRedis(Section section, RedisOptions& redis) {
  section.Read("address", redis.address);
  section.ReadList("sentinels", redis.sentinels);
  section.Read("master", redis.master);
  section.ReadList("cluster", redis.cluster);
  section.Read("user", redis.user);
  section.ReadSecret("password", redis.password);
  section.Read("sentinel_user", redis.sentinel_user);
  section.ReadSecret("sentinel_password", redis.sentinel_password);
  ReadTls(section.Child("tls"), HostCheck::kIsAChoice, AddressScheme::kNone,
          redis.tls);
  section.ReadCount("database", redis.database, 0, kMaxDatabase);
  section.ReadChoice("durability", redis.durability, kDurabilities);
  section.ReadCount("replicas", redis.replicas, 0, kMaxReplicas);
  section.ReadCount("max_entries", redis.max_entries, 0, kMaxEntries);
  section.ReadSize("max_entry_bytes", redis.max_entry_bytes, 1, kMaxEntryBytes);
  section.Read("create", redis.create);
  section.Read("timeout", redis.timeout, kMinTimeout, kMaxTimeout);
  section.Done();
}

}  // namespace walpost
