// RedisClient: asks one question after the other, and waits for the answer. For
// verbs; the sink has a RedisWriter.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "redis/cluster_slots.h"
#include "redis/options.h"
#include "redis/redis_session.h"
#include "redis/resp.h"

namespace walpost {

class RedisClient {
 public:
  // Errors as those of RedisSession::Open.
  static absl::StatusOr<std::unique_ptr<RedisClient>> Connect(
      const RedisOptions& options);
  // The same, to this master of a cluster.
  static absl::StatusOr<std::unique_ptr<RedisClient>> ConnectTo(
      const RedisOptions& options, const ServerPlace& place);
  // Where the slots of a cluster are.
  static absl::StatusOr<ClusterSlots> FindSlots(const RedisOptions& options);

  // An error reply is a reply. kUnavailable: no answer within
  // RedisOptions::timeout.
  absl::StatusOr<Reply> Ask(const std::vector<std::string>& command);
  // The same, of a key whose slot is on its way to this node.
  absl::StatusOr<Reply> AskWithAsking(const std::vector<std::string>& command);

 private:
  explicit RedisClient(const RedisOptions& options)
      : timeout_(options.timeout), session_(io_.get_executor(), options) {}

  MonotonicTime AnswerLimit() const {
    return std::chrono::steady_clock::now() + timeout_;
  }
  // The last of `replies`.
  absl::StatusOr<Reply> Send(const std::string& bytes, size_t replies);

  std::chrono::milliseconds timeout_;
  boost::asio::io_context io_{1};
  RedisSession session_;
};

}  // namespace walpost
