// HttpServer: /healthz, /readyz, /metrics and /status (pages.h).
//
// Runs on the program's io_context: that it answers at all means that the
// loop turns. It only shows, it changes nothing. Requests, connections and
// idle time are limited (HttpOptions); a client that is slow or silent does not
// keep others out.
//
//   auto server = HttpServer::Create(io.get_executor(), {.listen = "[::1]:0"},
//                                    version, [&] { return relay.Status(); });
//
// Owned by whoever runs the loop, who destroys it before the io_context and
// before what `status` looks at. Used from the loop's thread only.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "admin/http_options.h"
#include "delivery/relay_status.h"

namespace walpost {

class HttpServer {
 public:
  using StatusFunction = std::function<RelayStatus()>;

  // Listens on options.listen, which is not empty. `status` is called for
  // every page that shows it. kInvalidArgument names http.listen and what to
  // do: malformed, in use, not an address of this machine.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Create(
      boost::asio::any_io_executor executor, const HttpOptions& options,
      std::string version, StatusFunction status);

  // Stops listening and breaks off what is open; `status` is not called again.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The one it listens on, also when it was told 0.
  uint16_t port() const;

 private:
  class Listener;

  explicit HttpServer(std::shared_ptr<Listener> listener);

  // Shared with the handlers of the loop, which may still run, and find it
  // stopped, when the server is gone.
  std::shared_ptr<Listener> listener_;
};

}  // namespace walpost
