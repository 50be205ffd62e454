// Connection to RabbitMQ: keys `rabbitmq.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/reloadable_text.h"
#include "loop/tls_options.h"

namespace walpost {

// What walpost declares if it is missing. An exchange or a queue that exists is
// left as it is.
struct RabbitmqCreation {
  std::string exchange_type;      // empty: the exchange is not declared
  std::string queue;              // a quorum queue; empty: none
  std::string binding_key = "#";  // between the two
};

struct RabbitmqOptions {
  std::string nodes;  // host:port, host:port, ...: tried in turn
  std::string vhost = "/";
  // Empty, with a certificate: the server takes the name in it (EXTERNAL).
  ReloadableText user = "guest";
  // Empty: RabbitMQ's own default for that user, "guest".
  ReloadableText password;
  TlsOptions tls;

  // Templates (name_template.h). Empty exchange: the default exchange, where
  // the routing key is the name of a queue.
  std::string exchange;
  std::string routing_key = "{topic}";
  std::string content_type = "application/json";
  RabbitmqCreation create;

  // A server that has sent nothing for twice this time is given up.
  std::chrono::seconds heartbeat{4};
  std::chrono::seconds connect_timeout{5};
  // A message without confirmation is sent again after this time, on a new
  // connection.
  std::chrono::seconds confirm_timeout{30};
  // Larger payloads are rejected. As max_message_size of the server, which does
  // not tell its own: 16 MiB since RabbitMQ 4.0, 128 MiB before.
  size_t max_message_bytes = size_t{16} << 20;
  std::string connection_name = "walpost";  // in the server's lists
};

}  // namespace walpost
