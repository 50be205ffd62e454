#include "loop/transport.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "loop/address_lookup.h"
#include "loop/as_tuple.h"
#include "loop/descriptors.h"

namespace walpost {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Tells the server which name is meant, and expects it in its certificate,
// unless the options say otherwise. Call it before the handshake.
template <typename TlsStream>
void NameServer(const std::string& host, const TlsOptions& options,
                TlsStream& stream) {
  error_code is_name;
  asio::ip::make_address(host, is_name);
  // RFC 6066, section 3: an address is not a name.
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  if (!options.verify_host) return;
  stream.set_verify_callback(ssl::host_name_verification(host));
}

// Reads the files that the options name, each time. The server is always
// verified; TLS 1.2 is the oldest. `section`: of the sink, as in "redis".
// kFailedPrecondition: names the key whose file cannot be used.
absl::StatusOr<std::unique_ptr<ssl::context>> MakeTlsContext(
    const TlsOptions& options, std::string_view section) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  error_code error;
  absl::Status wrong;
  const auto check = [&](std::string_view key, const std::string& path) {
    if (!error || !wrong.ok()) return;
    wrong = absl::FailedPreconditionError(
        fmt::format("{}.tls.{}: {}: {}", section, key, path, error.message()));
  };
  context->set_options(ssl::context::default_workarounds |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  context->set_verify_mode(ssl::verify_peer, error);
  if (options.ca_file.empty()) {
    context->set_default_verify_paths(error);
    check("ca_file", "the certificates of the system");
  } else {
    context->load_verify_file(options.ca_file, error);
    check("ca_file", options.ca_file);
  }
  if (!options.certificate_file.empty()) {
    context->use_certificate_chain_file(options.certificate_file, error);
    check("certificate_file", options.certificate_file);
    context->use_private_key_file(options.key_file, ssl::context::pem, error);
    check("key_file", options.key_file);
  }
  if (!wrong.ok()) return wrong;
  return context;
}

absl::Status Ended(const error_code& error) {
  return absl::UnavailableError(error == asio::error::eof
                                    ? "the server has closed the connection"
                                    : error.message());
}

}  // namespace

Transport::Transport(asio::any_io_executor executor, std::string_view section)
    : executor_(executor), section_(section), socket_(executor) {}

asio::awaitable<absl::Status> Transport::Open(ServerPlace place, TlsOptions tls,
                                              MonotonicTime deadline) {
  if (tls.enabled) {
    WALPOST_CO_ASSIGN_OR_RETURN(context_, MakeTlsContext(tls, section_));
  }
  WALPOST_CO_RETURN_IF_ERROR(co_await Connect(place, deadline));
  if (!tls.enabled) co_return absl::OkStatus();
  co_return co_await Encrypt(std::move(place), std::move(tls));
}

asio::awaitable<absl::Status> Transport::Connect(ServerPlace place,
                                                 MonotonicTime deadline) {
  const auto addresses =
      co_await FindAddresses(executor_, place.host, deadline);
  if (!addresses.ok()) {
    co_return absl::UnavailableError(
        fmt::format("the host is not known: {}",
                    std::string(addresses.status().message())));
  }
  error_code error = asio::error::host_not_found;
  for (const asio::ip::address& address : *addresses) {
    if (is_aborted_) co_return absl::UnavailableError("given up");
    const tcp::endpoint endpoint(address, place.port);
    error_code ignored;
    socket_.close(ignored);
    socket_.open(endpoint.protocol(), error);
    if (error) {
      errno = error.value();
      co_return NoDescriptor();
    }
    const auto [failed] = co_await socket_.async_connect(endpoint, kAsTuple);
    error = failed;
    if (error) continue;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    co_return absl::OkStatus();
  }
  co_return absl::UnavailableError(error.message());
}

asio::awaitable<absl::Status> Transport::Encrypt(ServerPlace place,
                                                 TlsOptions tls) {
  tls_ = std::make_unique<asio::ssl::stream<Socket&>>(socket_, *context_);
  NameServer(place.host, tls, *tls_);
  constexpr auto kClient = asio::ssl::stream_base::client;
  const auto [error] = co_await tls_->async_handshake(kClient, kAsTuple);
  if (!error) co_return absl::OkStatus();
  const long verified = SSL_get_verify_result(tls_->native_handle());
  if (verified != X509_V_OK) {
    co_return absl::FailedPreconditionError(
        fmt::format("its certificate is not accepted: {}; correct "
                    "{}.tls.ca_file, or the name of the host",
                    X509_verify_cert_error_string(verified), section_));
  }
  co_return absl::UnavailableError(
      fmt::format("TLS: {}: is it a port for TLS?", error.message()));
}

asio::awaitable<absl::StatusOr<size_t>> Transport::Read(std::span<char> bytes) {
  const auto buffer = asio::buffer(bytes.data(), bytes.size());
  error_code error;
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
  if (error) co_return Ended(error);
  co_return size;
}

asio::awaitable<absl::Status> Transport::Write(std::string_view bytes) {
  const auto buffer = asio::buffer(bytes);
  error_code error;
  if (tls_ != nullptr) {
    const auto [failed, size] =
        co_await asio::async_write(*tls_, buffer, kAsTuple);
    error = failed;
  } else {
    const auto [failed, size] =
        co_await asio::async_write(socket_, buffer, kAsTuple);
    error = failed;
  }
  if (error) co_return Ended(error);
  co_return absl::OkStatus();
}

void Transport::Abort() {
  is_aborted_ = true;
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

}  // namespace walpost
