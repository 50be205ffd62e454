// HttpServer: the pages of pages.h.
//
// Runs on the program's io_context: an answer means that the loop runs. It only
// shows data, and changes nothing. Requests, connections and idle time are
// limited (HttpOptions); a slow or silent client does not keep others out.
//
//   auto server = HttpServer::Create(
//       io.get_executor(), {.listen = "[::1]:0"},
//       {.version = version, .status = [&] { return relay.Status(); }});
//
// Owned by the object that runs the loop; destroy it before the io_context and
// before the objects that its sources use. Used only from the loop's thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "admin/http_options.h"
#include "admin/pages.h"

namespace walpost {

class HttpServer {
 public:
  // Listens on options.listen, which is not empty. kInvalidArgument names
  // http.listen and the remedy: malformed, in use, not an address of this
  // machine.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Create(
      boost::asio::any_io_executor executor, const HttpOptions& options,
      PageSources sources);

  // Stops listening and closes open connections; `sources` are not called
  // again.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port it listens on, even if it was configured as 0.
  uint16_t port() const;

 private:
  class Listener;

  explicit HttpServer(std::shared_ptr<Listener> listener);

  // Shared with the loop's handlers, which may still run after the server is
  // destroyed, and find it stopped.
  std::shared_ptr<Listener> listener_;
};

}  // namespace walpost
