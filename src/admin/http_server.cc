#include "admin/http_server.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "admin/http_session.h"
#include "admin/listen_address.h"
#include "admin/pages.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// accept() fails when descriptors or memory have run out, and would fail
// again at once.
constexpr std::chrono::seconds kPauseAfterFailedAccept{1};

std::string_view Remedy(error_code error) {
  if (error == asio::error::address_in_use) {
    return "another process listens there; choose another port";
  }
  if (error == asio::error::access_denied) {
    return "choose a port from 1024 on; lower ones need a privilege";
  }
  return "give an address of this machine, or 0.0.0.0 for all of them";
}

}  // namespace

// Accepts connections as long as there is room for them; further ones wait in
// the kernel's queue.
class HttpServer::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::any_io_executor executor, const HttpOptions& options,
           Pages pages)
      : options_(options),
        pages_(std::make_shared<const Pages>(std::move(pages))),
        acceptor_(executor),
        pause_(executor) {}

  absl::Status Listen() {
    WALPOST_ASSIGN_OR_RETURN(const tcp::endpoint endpoint,
                             ParseListenAddress(options_.listen));
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    // Connections of an earlier process that linger do not hold the port.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("http.listen: cannot listen on {}: {}; {}", options_.listen,
                    error.message(), Remedy(error)));
  }

  void Accept() {
    if (stopped_ || accepting_ || HasNoRoom()) return;
    accepting_ = true;
    acceptor_.async_accept(
        [self = shared_from_this()](error_code error, tcp::socket socket) {
          self->accepting_ = false;
          self->OnAccept(error, std::move(socket));
        });
  }

  void Stop() {
    stopped_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    for (const auto& weak : sessions_) {
      if (const auto session = weak.lock()) session->Close();
    }
  }

  uint16_t port() const {
    error_code ignored;
    return acceptor_.local_endpoint(ignored).port();
  }

 private:
  bool HasNoRoom() {
    std::erase_if(sessions_, [](const auto& weak) { return weak.expired(); });
    return sessions_.size() >= options_.max_connections;
  }

  void OnAccept(error_code error, tcp::socket socket) {
    if (stopped_) return;
    if (error) {
      spdlog::warn("http: cannot accept a connection: {}; trying again in {} s",
                   error.message(), kPauseAfterFailedAccept.count());
      pause_.expires_after(kPauseAfterFailedAccept);
      pause_.async_wait(
          [self = shared_from_this()](error_code) { self->Accept(); });
      return;
    }
    const auto session = std::make_shared<HttpSession>(
        std::move(socket), options_, pages_,
        [self = shared_from_this()] { self->Accept(); });
    sessions_.push_back(session);
    session->Start();
    Accept();
  }

  const HttpOptions options_;
  const std::shared_ptr<const Pages> pages_;  // shared with the sessions
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  // Never more than options_.max_connections. Weak: a session lives by its
  // own handlers.
  std::vector<std::weak_ptr<HttpSession>> sessions_;
  bool accepting_ = false;
  bool stopped_ = false;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Create(
    asio::any_io_executor executor, const HttpOptions& options,
    std::string version, StatusFunction status) {
  auto listener = std::make_shared<Listener>(
      executor, options, Pages(std::move(status), std::move(version)));
  WALPOST_RETURN_IF_ERROR(listener->Listen());
  listener->Accept();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener)));
}

HttpServer::HttpServer(std::shared_ptr<Listener> listener)
    : listener_(std::move(listener)) {}

HttpServer::~HttpServer() { listener_->Stop(); }

uint16_t HttpServer::port() const { return listener_->port(); }

}  // namespace walpost
