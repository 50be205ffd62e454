// HTTP server for /healthz, /readyz, /metrics and /status: keys `http.*` of
// docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace walpost {

struct HttpOptions {
  // host:port of the HTTP server; empty: none. The host is an address or
  // "localhost"; IPv6 in brackets; port 0 selects a free one.
  std::string listen;
  // Maximum size of a request's head; requests have no body. Browsers and
  // scrapers send well under 2 KiB.
  size_t max_request_bytes = size_t{8} << 10;
  // Maximum number of open connections. A further one is accepted, and the
  // connection that has been idle or slow for longest is closed. A probe's
  // request follows its connection within a round trip: to displace it, others
  // must open that many connections in this time.
  size_t max_connections = 128;
  // Time limit for a request to arrive completely, and for its answer to be
  // read. Longer than the pause between two requests of a probe that keeps its
  // connection.
  std::chrono::milliseconds idle_timeout{10'000};
};

}  // namespace walpost
