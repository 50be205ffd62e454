// Transport: the bytes to and from one server, over TCP or TLS.
//
// Owned by a Connection. One coroutine reads, and one writes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "rabbitmq/address_list.h"
#include "rabbitmq/options.h"

namespace walpost::rabbitmq {

class Transport {
 public:
  explicit Transport(boost::asio::any_io_executor executor);

  // Tries each address of the host. kUnavailable: none answers, or the
  // certificate is not accepted; says which. kFailedPrecondition: a file of TLS
  // cannot be read.
  boost::asio::awaitable<absl::Status> Connect(RabbitmqAddress address,
                                               TlsOptions tls,
                                               MonotonicTime deadline);
  // At least one byte. kUnavailable: the connection has ended.
  boost::asio::awaitable<absl::StatusOr<size_t>> Read(std::span<char> bytes);
  // All of them, which must live until then.
  boost::asio::awaitable<absl::Status> Write(std::string_view bytes);

  // Ends the pending operations. What the kernel has not sent is dropped.
  void Abort();

 private:
  using Socket = boost::asio::ip::tcp::socket;

  Socket& socket() { return tls_ ? tls_->next_layer() : *plain_; }
  absl::Status UseTls(const RabbitmqAddress& address, const TlsOptions& tls);
  boost::asio::awaitable<absl::Status> ConnectSocket(
      std::vector<boost::asio::ip::address> addresses, uint16_t port);

  boost::asio::any_io_executor executor_;
  std::unique_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<Socket>> tls_;
  std::optional<Socket> plain_;
  bool is_aborted_ = false;
};

}  // namespace walpost::rabbitmq
