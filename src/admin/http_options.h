// Where /healthz, /readyz, /metrics and /status are served: keys `http.*` of
// docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace walpost {

struct HttpOptions {
  // host:port of the HTTP server; empty means none. The host is an address
  // or "localhost"; IPv6 in brackets; port 0 takes a free one.
  std::string listen;
  // The most that the head of a request may take; ours take no body. What
  // browsers and scrapers send is well under 2 KiB.
  size_t max_request_bytes = size_t{8} << 10;
  // Open at once; more wait in the listen queue. Enough for two scrapers, the
  // probes and a few people.
  size_t max_connections = 32;
  // For a request to arrive whole, and for its answer to be taken. Longer
  // than the pause between two requests of a probe that keeps its connection.
  std::chrono::milliseconds idle_timeout{10'000};
};

}  // namespace walpost
