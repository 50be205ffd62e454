#include "redis/redis_client.h"

#include <utility>

#include "base/status_macros.h"
#include "loop/run_to_end.h"

namespace walpost {
namespace {

std::string BytesOf(const std::vector<std::string>& command) {
  std::string bytes;
  BeginCommand(command.size(), bytes);
  for (const std::string& argument : command) AddArgument(argument, bytes);
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RedisClient>> RedisClient::Connect(
    const RedisOptions& options) {
  std::unique_ptr<RedisClient> client(new RedisClient(options));
  WALPOST_RETURN_IF_ERROR(
      RunToEnd(client->io_, client->session_.Open(client->AnswerLimit())));
  return client;
}

absl::StatusOr<std::unique_ptr<RedisClient>> RedisClient::ConnectTo(
    const RedisOptions& options, const ServerPlace& place) {
  std::unique_ptr<RedisClient> client(new RedisClient(options));
  WALPOST_RETURN_IF_ERROR(RunToEnd(
      client->io_, client->session_.OpenAt(place, client->AnswerLimit())));
  return client;
}

absl::StatusOr<ClusterSlots> RedisClient::FindSlots(
    const RedisOptions& options) {
  RedisClient client(options);
  return RunToEnd(client.io_, client.session_.FindSlots(client.AnswerLimit()));
}

absl::StatusOr<Reply> RedisClient::Ask(
    const std::vector<std::string>& command) {
  return Send(BytesOf(command), 1);
}

absl::StatusOr<Reply> RedisClient::AskWithAsking(
    const std::vector<std::string>& command) {
  return Send(Command({"ASKING"}) + BytesOf(command), 2);
}

absl::StatusOr<Reply> RedisClient::Send(const std::string& bytes,
                                        size_t replies) {
  absl::StatusOr<std::vector<Reply>> received =
      RunToEnd(io_, session_.connection().Ask(bytes, replies, AnswerLimit()));
  if (!received.ok()) return received.status();
  return std::move(received->back());
}

}  // namespace walpost
