// Connection to NATS JetStream: keys `nats.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/reloadable_text.h"
#include "loop/tls_options.h"

namespace walpost {

// The stream that is created if no stream takes a subject of `subjects`.
struct NatsStreamCreation {
  std::string name;
  // With wildcards, as the stream has them.
  std::vector<std::string> subjects;
  // Servers that keep the stream, 1 to 5. An acknowledged record survives the
  // loss of a server if there are at least 3.
  int replicas = 3;
  // Re-sends within it vanish (Nats-Msg-Id).
  std::chrono::milliseconds duplicate_window{120'000};

  friend bool operator==(const NatsStreamCreation&,
                         const NatsStreamCreation&) = default;
};

struct NatsOptions {
  // nats://host:port, tls://host:port, host:port; separated by commas. Servers
  // of a cluster that are not listed are not used.
  std::string servers;
  // Read again for each new connection. At most one of: user and password,
  // token, credentials_file.
  ReloadableText user = {};
  ReloadableText password = {};
  ReloadableText token = {};
  std::string credentials_file = {};  // a .creds file: JWT and nkey seed
  // A server with tls:// uses it, too. Its name is always verified.
  TlsOptions tls = {};
  std::string domain = {};  // of JetStream, behind a leaf node
  std::string client_id = "walpost";
  // A record that is not acknowledged by then counts as not delivered.
  std::chrono::milliseconds ack_timeout{5'000};
  // nullopt: walpost creates no stream.
  std::optional<NatsStreamCreation> create_stream = {};
  // Maximum records in flight: the acknowledgement window.
  size_t max_records = 2'000;
  // SinkOptions::one_at_a_time.
  bool one_at_a_time = false;
};

}  // namespace walpost
