#include "redis/redis_client.h"

#include <utility>

#include "base/status_macros.h"
#include "loop/run_to_end.h"

namespace walpost {

absl::StatusOr<std::unique_ptr<RedisClient>> RedisClient::Connect(
    const RedisOptions& options, uint16_t slot) {
  std::unique_ptr<RedisClient> client(new RedisClient(options, slot));
  const MonotonicTime deadline =
      std::chrono::steady_clock::now() + options.timeout;
  WALPOST_RETURN_IF_ERROR(
      RunToEnd(client->io_, client->session_.Open(deadline)));
  return client;
}

absl::StatusOr<ClusterSlots> RedisClient::FindSlots(
    const RedisOptions& options) {
  RedisClient client(options, 0);
  return RunToEnd(client.io_,
                  client.session_.FindSlots(std::chrono::steady_clock::now() +
                                            options.timeout));
}

absl::StatusOr<Reply> RedisClient::Ask(
    const std::vector<std::string>& command) {
  std::string bytes;
  BeginCommand(command.size(), bytes);
  for (const std::string& argument : command) AddArgument(argument, bytes);
  const MonotonicTime deadline = std::chrono::steady_clock::now() + timeout_;
  absl::StatusOr<std::vector<Reply>> replies =
      RunToEnd(io_, session_.connection().Ask(bytes, 1, deadline));
  if (!replies.ok()) return replies.status();
  return std::move(replies->front());
}

}  // namespace walpost
