// HttpServer: /healthz, /readyz, /metrics and /status.
//
// Runs on the program's io_context: that it answers at all means that the
// loop turns. Read-only; GET and HEAD. Requests, connections and idle time
// are limited, so it can be left open to a scraper without fear.
//
// Owned by whoever runs the loop; `status` is called for every page.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
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

  static constexpr size_t kMostConnections = 32;

  // Listens on options.listen ("127.0.0.1:9187", "[::1]:0"; port 0 takes a
  // free one). kInvalidArgument: the address is malformed or in use.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Create(
      boost::asio::any_io_executor executor, const HttpOptions& options,
      std::string version, StatusFunction status);

  // Stops accepting; what is being answered is finished.
  void Close();

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  HttpServer(boost::asio::any_io_executor executor, std::string version,
             StatusFunction status);

  void Accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  std::string version_;
  StatusFunction status_;
  std::shared_ptr<size_t> open_connections_;  // sessions may outlive us
};

}  // namespace walpost
