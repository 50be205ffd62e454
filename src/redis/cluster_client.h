// ClusterClient: asks the nodes of a Redis Cluster, and waits for the answers.
// For verbs; the sink has a ClusterSink.
//
// It follows slots that move: MOVED to the node that has a slot now, ASK to the
// one that has the key already. While a master is replaced, and after a lost
// connection, it looks for the slots again, for up to kPatience.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/server_place.h"
#include "base/time.h"
#include "redis/cluster_slots.h"
#include "redis/options.h"
#include "redis/redis_client.h"
#include "redis/redis_error.h"
#include "redis/resp.h"

namespace walpost {

class ClusterClient {
 public:
  // A failover takes cluster-node-timeout, which is 15 s by default, and some
  // seconds more.
  static constexpr std::chrono::seconds kPatience{30};

  explicit ClusterClient(RedisOptions options,
                         std::chrono::milliseconds patience = kPatience)
      : options_(std::move(options)), patience_(patience) {}

  // The answer of the node that has the stream; an error reply that does not
  // pass is a reply. kUnavailable: no answer in time, with the last reason.
  // Others: those of RedisSession::Open.
  absl::StatusOr<Reply> Ask(const std::string& stream,
                            const std::vector<std::string>& command);

  // The masters, which are looked for and connected to again. Errors as above;
  // kUnavailable also: no node serves some of the slots.
  absl::StatusOr<std::vector<std::shared_ptr<RedisClient>>> Masters();

 private:
  using Client = std::shared_ptr<RedisClient>;
  using Clients = std::vector<Client>;

  // One attempt; follows `redirection`, if there is one.
  absl::StatusOr<Reply> AskOnce(const std::string& stream,
                                const std::vector<std::string>& command,
                                std::optional<Redirection>& redirection);
  absl::StatusOr<Clients> FindMasters();
  absl::StatusOr<ServerPlace> PlaceOf(const std::string& stream);
  absl::StatusOr<Client> ClientOf(const ServerPlace& place);
  // Waits before another attempt. False: the time is over.
  bool MayTryAgain(MonotonicTime limit) const;
  absl::Status GivenUp(const absl::Status& last) const;
  void Forget();

  const RedisOptions options_;
  const std::chrono::milliseconds patience_;
  std::optional<ClusterSlots> slots_;
  std::map<std::string, Client> clients_;  // by place
};

}  // namespace walpost
