#include "admin/http_server.h"

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <optional>

#include "admin/metrics_page.h"
#include "admin/status_json.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

namespace {

constexpr std::chrono::seconds kIdleLimit{10};
constexpr size_t kMostRequestBytes = 8 * 1024;

struct Page {
  http::status status = http::status::ok;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

Page MakePage(std::string_view path, const RelayStatus& status,
              std::string_view version) {
  if (path == "/healthz") return {http::status::ok, "text/plain", "ok\n"};
  if (path == "/readyz") {
    Page page;
    page.status = IsReady(status.state) ? http::status::ok
                                        : http::status::service_unavailable;
    page.body = fmt::format("{}{}{}\n", ToString(status.state),
                            status.reason.empty() ? "" : ": ", status.reason);
    return page;
  }
  if (path == "/metrics") {
    return {http::status::ok, "text/plain; version=0.0.4; charset=utf-8",
            MetricsPage(status, version)};
  }
  if (path == "/status") {
    return {http::status::ok, "application/json", StatusJson(status, version)};
  }
  if (path == "/") {
    Page page;
    page.body = fmt::format(
        "walpost {}\n/healthz /readyz /metrics /status\n", version);
    return page;
  }
  return {http::status::not_found, "text/plain", "no such page\n"};
}

// One connection. Shared by the handlers of its own operations: it lives as
// long as one of them is under way.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(tcp::socket socket, std::string version,
              HttpServer::StatusFunction status,
              std::shared_ptr<size_t> open_connections)
      : stream_(std::move(socket)),
        version_(std::move(version)),
        status_(std::move(status)),
        open_connections_(std::move(open_connections)) {
    ++*open_connections_;
  }
  ~HttpSession() { --*open_connections_; }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kMostRequestBytes);
    parser_->body_limit(0);
    stream_.expires_after(kIdleLimit);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error,
                                                 size_t) {
                       if (!error) self->Answer();
                     });
  }

 private:
  void Answer() {
    const auto& request = parser_->get();
    const bool head = request.method() == http::verb::head;
    Page page;
    if (head || request.method() == http::verb::get) {
      const std::string_view target(request.target().data(),
                                    request.target().size());
      page = MakePage(target.substr(0, target.find('?')), status_(), version_);
    } else {
      page = {http::status::method_not_allowed, "text/plain", "GET only\n"};
    }
    response_ = {};
    response_.result(page.status);
    response_.version(request.version());
    response_.keep_alive(request.keep_alive());
    response_.set(http::field::content_type, page.type);
    response_.set(http::field::cache_control, "no-store");
    response_.content_length(page.body.size());
    if (!head) response_.body() = std::move(page.body);
    stream_.expires_after(kIdleLimit);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error,
                                                  size_t) {
                        if (error) return;
                        if (self->response_.keep_alive()) {
                          self->Read();
                        } else {
                          self->stream_.close();
                        }
                      });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMostRequestBytes};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  std::string version_;
  HttpServer::StatusFunction status_;
  std::shared_ptr<size_t> open_connections_;
};

absl::StatusOr<tcp::endpoint> ParseEndpoint(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  std::string host = listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  uint16_t port = 0;
  boost::system::error_code error;
  const auto address =
      asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  const std::string digits =
      colon == std::string::npos ? "" : listen.substr(colon + 1);
  const char* end = digits.data() + digits.size();
  const auto [rest, bad] = std::from_chars(digits.data(), end, port);
  if (error || bad != std::errc() || rest != end) {
    return absl::InvalidArgumentError(fmt::format(
        "http.listen: '{}' is not an address and port, as in 127.0.0.1:9187",
        listen));
  }
  return tcp::endpoint(address, port);
}

}  // namespace

HttpServer::HttpServer(asio::any_io_executor executor, std::string version,
                       StatusFunction status)
    : acceptor_(executor),
      version_(std::move(version)),
      status_(std::move(status)),
      open_connections_(std::make_shared<size_t>(0)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Create(
    asio::any_io_executor executor, const HttpOptions& options,
    std::string version, StatusFunction status) {
  const absl::StatusOr<tcp::endpoint> endpoint = ParseEndpoint(options.listen);
  if (!endpoint.ok()) return endpoint.status();
  std::unique_ptr<HttpServer> server(
      new HttpServer(executor, std::move(version), std::move(status)));
  boost::system::error_code error;
  server->acceptor_.open(endpoint->protocol(), error);
  if (!error) {
    server->acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) server->acceptor_.bind(*endpoint, error);
  if (!error) {
    server->acceptor_.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    return absl::InvalidArgumentError(
        fmt::format("http.listen: cannot listen on {}: {}; choose another "
                    "address or leave it empty",
                    options.listen, error.message()));
  }
  server->Accept();
  return server;
}

void HttpServer::Accept() {
  acceptor_.async_accept(
      [this](boost::system::error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted) return;
        // Over the limit the connection is closed right away.
        if (!error && *open_connections_ < kMostConnections) {
          std::make_shared<HttpSession>(std::move(socket), version_, status_,
                                        open_connections_)
              ->Read();
        }
        Accept();
      });
}

void HttpServer::Close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace walpost
