// Handshake: opens a connection of AMQP 0-9-1 with one channel, and makes calls
// on it: frames of the server in, bytes for the server out.
//
//   Begin ─▶ header         start ─▶ start-ok       tune ─▶ tune-ok, open
//            open-ok ─▶ channel.open    channel.open-ok ─▶ call 1
//            answer 1 ─▶ call 2 ...     last answer: is_ready
//
// A call that may fail, and does, closes the channel; another is opened for the
// next call. Pure: no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "rabbitmq/amqp_codec.h"
#include "rabbitmq/server_error.h"

namespace walpost::rabbitmq {

// The one channel of a connection.
inline constexpr uint16_t kRabbitmqChannel = 1;

// A method of a channel that the server answers.
struct AmqpCall {
  std::string attempted;  // "declaring exchange orders"
  std::string frame;
  amqp_method_number_t answer = 0;
  bool may_fail = false;
  // Only if the call before it has failed.
  bool is_fallback = false;
};

struct AmqpAnswer {
  std::optional<ServerError> error;
  bool was_made = true;
};

struct ServerFacts {
  std::string cluster_name;
  std::string version;
  size_t max_frame = 0;
  bool has_nack = false;
};

// Has the name of the cluster, if an operator has set one; else
// kUnnamedRabbitmq: by default each node tells its own name, which has an @.
std::string ClusterIdOf(const ServerFacts& facts);

class Handshake {
 public:
  struct Options {
    RabbitmqLogin login;
    std::string password;
    bool is_external = false;  // the certificate says who we are
    std::string connection_name;
    uint16_t heartbeat_seconds = 0;
    std::vector<AmqpCall> calls;
  };

  explicit Handshake(Options options) : options_(std::move(options)) {}

  // The first bytes for the server.
  std::string Begin();
  // Appends the answer to `out`. kAborted: the server has closed; `closed()`
  // has its words. kDataLoss, kFailedPrecondition: not a server that we can
  // use.
  absl::Status OnFrame(const AmqpFrame& frame, std::string& out);

  bool is_ready() const { return step_ == Step::kReady; }
  const ServerFacts& facts() const { return facts_; }
  const std::vector<AmqpAnswer>& answers() const { return answers_; }
  const std::optional<ServerError>& closed() const { return closed_; }
  // What it is at, for a server that does not go on.
  std::string attempted() const;

 private:
  enum class Step { kStart, kTune, kOpen, kChannel, kCalls, kReady };

  absl::Status OnStart(const AmqpMethod& method, std::string& out);
  absl::Status OnTune(const AmqpMethod& method, std::string& out);
  absl::Status OnConnectionClose(const AmqpMethod& method, std::string& out);
  absl::Status OnChannelClose(const AmqpMethod& method, std::string& out);
  absl::Status OpenChannel(std::string& out);
  absl::Status MakeNextCall(std::string& out);
  absl::Status Expect(const AmqpMethod& method, amqp_method_number_t id) const;

  Options options_;
  Step step_ = Step::kStart;
  AmqpDecoder decoder_;
  ServerFacts facts_;
  std::vector<AmqpAnswer> answers_;
  std::optional<ServerError> closed_;
};

}  // namespace walpost::rabbitmq
