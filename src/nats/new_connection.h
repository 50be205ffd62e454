// Connects to NATS with libnats.
#pragma once

#include <nats/nats.h>

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "nats/nats_client.h"
#include "nats/nats_handles.h"

namespace walpost {

struct NatsCallbacks {
  natsErrHandler on_error = nullptr;
  natsConnectionHandler on_closed = nullptr;
  natsMsgHandler on_message = nullptr;
  void* closure = nullptr;  // of all of them
};

struct NewNatsConnection {
  // The connection goes first: libnats (3.4) may use a subscription that is
  // destroyed while messages come in.
  NatsSubscriptionHandle subscription;
  NatsConnectionHandle connection;
  std::string inbox;  // what is sent to "INBOX.*" gets to `on_message`
  size_t max_payload_bytes = 0;
  // With finds_other_servers: a server has named one that is not listed.
  bool has_other_servers = false;
};

// Blocks: tries each server once, for up to 2 s. It does not connect again. The
// texts of errors are for people (connection_trouble.h).
absl::StatusOr<NewNatsConnection> ConnectToNats(
    const NatsConnectionSettings& settings, const NatsCallbacks& callbacks);

}  // namespace walpost
