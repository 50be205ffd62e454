// Transport: the bytes to and from one server, over TCP or TLS.
//
// Its owner keeps it alive while a coroutine waits in it. One coroutine reads,
// and one writes. Runs on the loop. The texts of errors do not say which server
// it is.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/server_place.h"
#include "base/time.h"
#include "loop/tls_options.h"

namespace walpost {

class Transport {
 public:
  // `section`: of the sink, as in "redis"; lives as long.
  Transport(boost::asio::any_io_executor executor, std::string_view section);

  // Once. Connects to the first address of the host that answers; with
  // tls.enabled, also verifies the server.
  //
  // kUnavailable: none answers; or the host is not looked up before `deadline`,
  // which bounds nothing else: Abort does. kFailedPrecondition: the certificate
  // is not accepted, or a file of TLS cannot be used; names the key.
  boost::asio::awaitable<absl::Status> Open(ServerPlace place, TlsOptions tls,
                                            MonotonicTime deadline);
  // At least one byte. kUnavailable: the connection has ended.
  boost::asio::awaitable<absl::StatusOr<size_t>> Read(std::span<char> bytes);
  // All of them, which must live until then. kUnavailable: as above.
  boost::asio::awaitable<absl::Status> Write(std::string_view bytes);

  // Ends what waits. What the kernel has not sent is dropped.
  void Abort();

 private:
  using Socket = boost::asio::ip::tcp::socket;

  boost::asio::awaitable<absl::Status> Connect(ServerPlace place,
                                               MonotonicTime deadline);
  boost::asio::awaitable<absl::Status> Encrypt(ServerPlace place,
                                               TlsOptions tls);

  boost::asio::any_io_executor executor_;
  std::string_view section_;
  Socket socket_;
  std::unique_ptr<boost::asio::ssl::context> context_;
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> tls_;  // nullptr: TCP
  bool is_aborted_ = false;
};

}  // namespace walpost
