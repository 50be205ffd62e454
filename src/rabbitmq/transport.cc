#include "rabbitmq/transport.h"

#include <netdb.h>

#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"
#include "loop/blocking_call.h"
#include "loop/descriptors.h"
#include "loop/tls_context.h"

namespace walpost::rabbitmq {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr size_t kMaxAddressesPerHost = 16;

struct Lookup {
  std::vector<asio::ip::address> addresses;
  std::string error;
};

Lookup LookUp(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) return {{}, gai_strerror(error)};
  Lookup found;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    if (found.addresses.size() == kMaxAddressesPerHost) break;
    tcp::endpoint endpoint;
    if (a->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), a->ai_addr, a->ai_addrlen);
    endpoint.resize(a->ai_addrlen);
    found.addresses.push_back(endpoint.address());
  }
  freeaddrinfo(list);
  return found;
}

}  // namespace

Transport::Transport(asio::any_io_executor executor)
    : executor_(executor), plain_(std::in_place, executor) {}

absl::Status Transport::UseTls(const RabbitmqAddress& address,
                               const TlsOptions& tls) {
  WALPOST_ASSIGN_OR_RETURN(context_, MakeTlsContext(tls, "rabbitmq"));
  Socket socket = *std::move(plain_);
  plain_.reset();
  tls_.emplace(std::move(socket), *context_);
  if (tls.verify_host) {
    tls_->set_verify_callback(asio::ssl::host_name_verification(address.host));
  }
  SSL_set_tlsext_host_name(tls_->native_handle(), address.host.c_str());
  return absl::OkStatus();
}

asio::awaitable<absl::Status> Transport::Connect(RabbitmqAddress address,
                                                 TlsOptions tls,
                                                 MonotonicTime deadline) {
  const std::string where = address.ToString();
  std::vector<asio::ip::address> addresses;
  error_code error;
  const asio::ip::address literal = asio::ip::make_address(address.host, error);
  if (!error) {
    addresses.push_back(literal);
  } else {
    const std::string host = address.host;
    const std::function<Lookup()> look_up = [host] { return LookUp(host); };
    auto call = BlockingCall<Lookup>::Start(executor_, look_up);
    if (!call.ok()) co_return call.status();
    std::optional<Lookup> found = co_await (*call)->Wait(deadline);
    if (!found || !found->error.empty()) {
      co_return absl::UnavailableError(
          fmt::format("looking up {}: {}", address.host,
                      found ? found->error : "the name servers do not answer"));
    }
    addresses = std::move(found->addresses);
  }
  if (is_aborted_) co_return absl::UnavailableError("given up");
  const absl::Status connected =
      co_await ConnectSocket(std::move(addresses), address.port);
  if (!connected.ok()) {
    co_return absl::UnavailableError(fmt::format(
        "connecting to {}: {}", where, std::string(connected.message())));
  }
  if (!tls.enabled) co_return absl::OkStatus();
  const absl::Status prepared = UseTls(address, tls);
  if (!prepared.ok()) co_return prepared;
  const auto [failed] =
      co_await tls_->async_handshake(asio::ssl::stream_base::client, kAsTuple);
  if (!failed) co_return absl::OkStatus();
  const bool is_refused =
      failed.message().find("verify failed") != std::string::npos;
  co_return absl::UnavailableError(
      fmt::format("TLS with {}: {}{}", where, failed.message(),
                  is_refused ? ": is rabbitmq.tls.ca_file the authority of its "
                               "certificate, and does that have this host name?"
                             : ": is this the port for TLS (5671)?"));
}

asio::awaitable<absl::Status> Transport::ConnectSocket(
    std::vector<asio::ip::address> addresses, uint16_t port) {
  error_code error = asio::error::host_not_found;
  for (const asio::ip::address& address : addresses) {
    if (is_aborted_) break;
    const tcp::endpoint endpoint(address, port);
    error_code ignored;
    plain_->close(ignored);
    plain_->open(endpoint.protocol(), error);
    if (error) {
      errno = error.value();
      co_return NoDescriptor();
    }
    const auto [failed] = co_await plain_->async_connect(endpoint, kAsTuple);
    error = failed;
    if (!error) break;
  }
  if (error) co_return absl::UnavailableError(error.message());
  error_code ignored;
  plain_->set_option(tcp::no_delay(true), ignored);
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<size_t>> Transport::Read(std::span<char> bytes) {
  const asio::mutable_buffer buffer(bytes.data(), bytes.size());
  error_code error;
  size_t size = 0;
  if (tls_) {
    std::tie(error, size) = co_await tls_->async_read_some(buffer, kAsTuple);
  } else {
    std::tie(error, size) = co_await plain_->async_read_some(buffer, kAsTuple);
  }
  if (!error) co_return size;
  co_return absl::UnavailableError(error == asio::error::eof
                                       ? "the server has closed the connection"
                                       : error.message());
}

asio::awaitable<absl::Status> Transport::Write(std::string_view bytes) {
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  error_code error;
  size_t size = 0;
  if (tls_) {
    std::tie(error, size) = co_await asio::async_write(*tls_, buffer, kAsTuple);
  } else {
    std::tie(error, size) =
        co_await asio::async_write(*plain_, buffer, kAsTuple);
  }
  if (!error) co_return absl::OkStatus();
  co_return absl::UnavailableError(error.message());
}

void Transport::Abort() {
  is_aborted_ = true;
  error_code ignored;
  socket().set_option(asio::socket_base::linger(true, 0), ignored);
  socket().close(ignored);
}

}  // namespace walpost::rabbitmq
