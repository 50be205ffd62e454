// RedisSession: finds the server to write to, connects, and learns what it is.
//
//   Sentinels, or nodes of a cluster ──▶ address of the master ──▶ connection
//   ──▶ AUTH, SELECT ──▶ INFO
//
// Used by the sink, and by `walpost check`. One coroutine uses it at a time,
// and keeps it alive while it waits. Runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "redis/cluster_slots.h"
#include "redis/options.h"
#include "redis/redis_connection.h"
#include "redis/redis_facts.h"

namespace walpost {

class RedisSession {
 public:
  // `slot`: the hash slot to write to, in a cluster; nullopt: any master will
  // do.
  RedisSession(boost::asio::any_io_executor executor, RedisOptions options,
               std::optional<uint16_t> slot = {})
      : options_(std::move(options)),
        slot_(slot),
        connection_(executor),
        guide_(executor) {}

  // kUnavailable: no server, or no answer until `deadline`; or a credential
  // cannot be read. kFailedPrecondition: an operator must act: a right, a
  // password, a certificate.
  boost::asio::awaitable<absl::Status> Open(MonotonicTime deadline);
  // The same, to this server.
  boost::asio::awaitable<absl::Status> OpenAt(const ServerPlace& place,
                                              MonotonicTime deadline);
  // Where the slots of the cluster are. Errors as those of Open.
  boost::asio::awaitable<absl::StatusOr<ClusterSlots>> FindSlots(
      MonotonicTime deadline);
  // What CONFIG GET says now about the file that the server syncs.
  boost::asio::awaitable<absl::Status> ReadConfig(MonotonicTime deadline);
  void Close() {
    connection_.Close();
    guide_.Close();
  }

  RedisConnection& connection() { return connection_; }
  const RedisFacts& facts() const { return facts_; }
  // "Redis at 127.0.0.1:6379".
  const std::string& name() const { return name_; }
  MonotonicTime heard_at() const { return connection_.heard_at(); }
  // The last Open failed because of a password or a certificate.
  bool rejects_credentials() const { return rejects_credentials_; }

 private:
  boost::asio::awaitable<absl::StatusOr<ServerPlace>> FindMaster(
      MonotonicTime deadline);
  // Connects to the first master of the cluster that answers.
  boost::asio::awaitable<absl::Status> OpenAnyMaster(MonotonicTime deadline);
  using ParsePlace = absl::StatusOr<ServerPlace> (*)(std::string_view);
  template <typename Answer>
  using AskGuide = boost::asio::awaitable<absl::StatusOr<Answer>> (
      RedisSession::*)(const ServerPlace& place, MonotonicTime deadline);
  // The first answer.
  template <typename Answer>
  boost::asio::awaitable<absl::StatusOr<Answer>> AskInTurn(
      const std::vector<std::string>& addresses, ParsePlace parse,
      AskGuide<Answer> ask, MonotonicTime deadline);
  boost::asio::awaitable<absl::StatusOr<ServerPlace>> AskSentinel(
      const ServerPlace& place, MonotonicTime deadline);
  boost::asio::awaitable<absl::StatusOr<ClusterSlots>> AskNode(
      const ServerPlace& place, MonotonicTime deadline);
  boost::asio::awaitable<absl::Status> Authenticate(
      RedisConnection& connection, const ReloadableText& username,
      const ReloadableText& password, MonotonicTime deadline);
  boost::asio::awaitable<absl::Status> Greet(MonotonicTime deadline);
  absl::Status Refused(std::string_view error, std::string_view attempted);

  RedisOptions options_;
  std::optional<uint16_t> slot_;
  RedisConnection connection_;
  RedisConnection guide_;  // a Sentinel, or a node of the cluster
  RedisFacts facts_;
  std::string name_ = "Redis";
  bool rejects_credentials_ = false;
};

}  // namespace walpost
