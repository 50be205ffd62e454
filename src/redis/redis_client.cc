#include "redis/redis_client.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "base/status_macros.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

template <typename T>
T RunToEnd(asio::io_context& io, asio::awaitable<T> operation) {
  std::optional<T> result;
  asio::co_spawn(io, std::move(operation),
                 [&result](std::exception_ptr, T value) {
                   result.emplace(std::move(value));
                 });
  io.restart();
  io.run();
  return *std::move(result);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RedisClient>> RedisClient::Connect(
    const RedisOptions& options) {
  std::unique_ptr<RedisClient> client(new RedisClient(options));
  const MonotonicTime deadline =
      std::chrono::steady_clock::now() + options.timeout;
  WALPOST_RETURN_IF_ERROR(
      RunToEnd(client->io_, client->session_.Open(deadline)));
  return client;
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
