// NatsClient: one connection of libnats, behind two queues.
//
//   loop:    Publish, Ask ──▶ queue ──▶ thread ──▶ libnats ──▶ server
//   loop:    Take ◀── queue ◀── libnats's threads ◀── answers, errors
//
// libnats blocks while it connects, and while a socket takes no more bytes. So
// its calls are made on a thread of their own, which connects, publishes what
// is queued, and ends after Stop. An eventfd wakes the loop.
//
// It connects until it is stopped. A connection that is lost is not made again:
// messages that were on their way are then in doubt, and the owner makes
// another client.
//
// Owned by the sink, on the loop. The thread owns what it uses, and may outlive
// the client.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loop/tls_options.h"
#include "nats/message.h"
#include "nats/publish_answer.h"

namespace walpost {

// How to connect: the options, with their texts read.
struct NatsConnectionSettings {
  std::vector<std::string> servers;
  std::string user;
  std::string password;
  std::string token;
  std::string credentials_file;
  TlsOptions tls;
  std::string name;  // of the client, for the server's monitoring
  // Servers that are not listed are noted, and not connected to.
  bool finds_other_servers = false;
};

struct NatsEvent {
  enum class Kind {
    kConnected,     // number: max_payload
    kNotConnected,  // text: why; it tries again
    kPublished,     // number: the record; answer
    kAnswered,  // number: the question; text: JSON, or empty: nobody listens
    kError,     // text: a message of the server; the connection goes on
    kClosed,    // text: why
  };
  Kind kind;
  uint64_t number = 0;
  std::string text = {};
  PublishAnswer answer = {};
};

class NatsClient {
 public:
  // Starts to connect. kUnavailable: no thread or descriptor is left.
  static absl::StatusOr<std::unique_ptr<NatsClient>> Start(
      NatsConnectionSettings settings);
  ~NatsClient();
  NatsClient(const NatsClient&) = delete;
  NatsClient& operator=(const NatsClient&) = delete;

  // Queue a message; its answer comes as an event with the number. Requires a
  // connection.
  void Publish(NatsMessage message, uint64_t number);
  void Ask(std::string subject, std::string body, uint64_t number);

  // Readable while there are events. Valid as long as the client.
  int event_fd() const;
  // The next events, at most `most`; none: there are none.
  std::vector<NatsEvent> Take(size_t most);

  // Sends nothing more, and closes the connection.
  void Stop();
  // True when the thread has ended: nothing is sent any more.
  bool has_ended() const;

  struct Shared;  // with the threads

 private:
  explicit NatsClient(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

}  // namespace walpost
