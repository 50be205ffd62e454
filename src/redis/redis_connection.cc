#include "redis/redis_connection.h"

#include <netdb.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"
#include "loop/blocking_call.h"
#include "loop/descriptors.h"
#include "loop/tls_context.h"

namespace walpost {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

struct Addresses {
  std::vector<tcp::endpoint> endpoints;
  std::string error;
};

Addresses LookUp(const ServerPlace& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(place.host.c_str(), nullptr, &hints, &list);
  if (error != 0) return {{}, gai_strerror(error)};
  Addresses found;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    tcp::endpoint endpoint;
    if (a->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), a->ai_addr, a->ai_addrlen);
    endpoint.resize(a->ai_addrlen);
    endpoint.port(place.port);
    found.endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  return found;
}

}  // namespace

RedisConnection::RedisConnection(asio::any_io_executor executor)
    : executor_(executor), socket_(executor), timer_(executor) {}

asio::awaitable<absl::Status> RedisConnection::Open(const ServerPlace& place,
                                                    const RedisOptions& options,
                                                    MonotonicTime deadline) {
  tls_.reset();
  context_.reset();
  boost::system::error_code ignored;
  socket_.close(ignored);
  replies_.emplace();
  place_ = place.ToString();
  timed_out_ = false;
  if (options.tls.enabled) {
    WALPOST_CO_ASSIGN_OR_RETURN(context_, MakeTlsContext(options.tls, "redis"));
  }
  WALPOST_CO_RETURN_IF_ERROR(co_await Connect(place, deadline));
  CloseAt(deadline);
  absl::Status status;
  if (options.tls.enabled) status = co_await Encrypt(place, options);
  timer_.cancel();
  heard_at_ = Clock::now();
  co_return status;
}

asio::awaitable<absl::Status> RedisConnection::Connect(const ServerPlace& place,
                                                       MonotonicTime deadline) {
  std::function<Addresses()> look_up = [place] { return LookUp(place); };
  auto call = BlockingCall<Addresses>::Start(executor_, look_up);
  if (!call.ok()) co_return call.status();
  const std::optional<Addresses> found = co_await (*call)->Wait(deadline);
  if (!found || found->endpoints.empty()) {
    co_return absl::UnavailableError(
        fmt::format("Redis at {}: the host is not known: {}", place_,
                    found ? found->error : "the name servers do not answer"));
  }
  boost::system::error_code error;
  for (const tcp::endpoint& endpoint : found->endpoints) {
    if (is_closed_) co_return absl::AbortedError("closed");
    boost::system::error_code ignored;
    socket_.close(ignored);
    CloseAt(deadline);
    const auto [failed] = co_await socket_.async_connect(endpoint, kAsTuple);
    timer_.cancel();
    error = failed;
    if (error) continue;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    co_return absl::OkStatus();
  }
  if (error == asio::error::no_descriptors) co_return NoDescriptor();
  co_return Lost(error);
}

asio::awaitable<absl::Status> RedisConnection::Encrypt(
    const ServerPlace& place, const RedisOptions& options) {
  tls_ = std::make_unique<asio::ssl::stream<tcp::socket&>>(socket_, *context_);
  boost::system::error_code ignored;
  boost::system::error_code is_name;
  asio::ip::make_address(place.host, is_name);
  if (is_name) {
    SSL_set_tlsext_host_name(tls_->native_handle(), place.host.c_str());
  }
  if (options.tls.verify_host) {
    tls_->set_verify_callback(asio::ssl::host_name_verification(place.host),
                              ignored);
  }
  constexpr auto kClient = asio::ssl::stream_base::client;
  const auto [error] = co_await tls_->async_handshake(kClient, kAsTuple);
  if (!error) co_return absl::OkStatus();
  const long verified = SSL_get_verify_result(tls_->native_handle());
  if (verified != X509_V_OK) {
    co_return absl::FailedPreconditionError(
        fmt::format("Redis at {}: its certificate is not accepted: {}; correct "
                    "redis.tls.ca_file, or the name in redis.address",
                    place_, X509_verify_cert_error_string(verified)));
  }
  co_return Lost(error);
}

asio::awaitable<absl::StatusOr<std::vector<Reply>>> RedisConnection::Ask(
    const std::string& commands, size_t replies, MonotonicTime deadline) {
  absl::StatusOr<std::vector<Reply>> answer(absl::in_place);
  CloseAt(deadline);
  absl::Status status = co_await Send(commands);
  while (status.ok() && answer->size() < replies) {
    absl::StatusOr<std::optional<Reply>> next = replies_->Next();
    if (!next.ok()) {
      status = next.status();
    } else if (*next) {
      answer->push_back(**std::move(next));
    } else {
      status = co_await Receive();
    }
  }
  timer_.cancel();
  if (status.ok()) co_return answer;
  co_return status;
}

asio::awaitable<absl::Status> RedisConnection::Send(const std::string& bytes) {
  const auto buffer = asio::buffer(bytes);
  boost::system::error_code error;
  if (tls_ != nullptr) {
    const auto [failed, size] =
        co_await asio::async_write(*tls_, buffer, kAsTuple);
    error = failed;
  } else {
    const auto [failed, size] =
        co_await asio::async_write(socket_, buffer, kAsTuple);
    error = failed;
  }
  if (error) co_return Lost(error);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> RedisConnection::Receive() {
  const auto buffer = asio::buffer(received_);
  boost::system::error_code error;
  size_t size = 0;
  if (tls_ != nullptr) {
    const auto [failed, count] =
        co_await tls_->async_read_some(buffer, kAsTuple);
    error = failed;
    size = count;
  } else {
    const auto [failed, count] =
        co_await socket_.async_read_some(buffer, kAsTuple);
    error = failed;
    size = count;
  }
  if (error) co_return Lost(error);
  heard_at_ = Clock::now();
  co_return replies_->Feed(std::string_view(received_.data(), size));
}

void RedisConnection::CloseAt(MonotonicTime deadline) {
  timer_.expires_at(deadline);
  timer_.async_wait([this, lifetime = std::weak_ptr<const bool>(lifetime_)](
                        boost::system::error_code error) {
    if (error || lifetime.expired() || timer_.expiry() > Clock::now()) return;
    timed_out_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
  });
}

void RedisConnection::Close() {
  is_closed_ = true;
  timer_.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

absl::Status RedisConnection::Lost(
    const boost::system::error_code& error) const {
  if (is_closed_) return absl::AbortedError("closed");
  return absl::UnavailableError(
      fmt::format("Redis at {}: {}", place_,
                  timed_out_ ? "no answer in time" : error.message()));
}

}  // namespace walpost
