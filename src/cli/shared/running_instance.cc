#include "cli/shared/running_instance.h"

#include <boost/asio/io_context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <utility>

#include "admin/listen_address.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr std::chrono::seconds kTimeout{5};

}  // namespace

absl::Status NoInstance(const HttpOptions& options, const std::string& why) {
  return absl::UnavailableError(fmt::format(
      "no walpost answers at http.listen {} ({}): is walpost running "
      "with this configuration?",
      options.listen, why));
}

// One GET, with a time limit for all of it.
absl::StatusOr<std::string> AskInstance(const HttpOptions& options,
                                        const std::string& path) {
  if (options.listen.empty()) {
    return absl::InvalidArgumentError(
        "http.listen is not set, so a walpost that runs cannot be asked: set "
        "it, as in 127.0.0.1:9187, and restart it");
  }
  WALPOST_ASSIGN_OR_RETURN(asio::ip::tcp::endpoint endpoint,
                           ParseListenAddress(options.listen));
  if (endpoint.address().is_unspecified()) {
    endpoint.address(endpoint.address().is_v6()
                         ? asio::ip::address(asio::ip::address_v6::loopback())
                         : asio::ip::address_v4::loopback());
  }
  asio::io_context io(1);
  beast::tcp_stream stream(io);
  stream.expires_after(kTimeout);
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, options.listen);
  request.keep_alive(false);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  beast::error_code failure;
  const auto done = [&](beast::error_code error, size_t) { failure = error; };
  stream.async_connect(endpoint, [&](beast::error_code error) {
    failure = error;
    if (error) return;
    http::async_write(stream, request, [&](beast::error_code unsent, size_t) {
      failure = unsent;
      if (!unsent) http::async_read(stream, buffer, response, done);
    });
  });
  io.run();
  if (failure) return NoInstance(options, failure.message());
  return std::move(response.body());
}

}  // namespace walpost
