#include "admin/http_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <tuple>
#include <utility>
#include <vector>

#include "admin/http_session.h"
#include "admin/listen_address.h"
#include "admin/pages.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"

namespace walpost {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// SpareDescriptor: a file descriptor in reserve, for when there is no other.
//
// accept() fails once the limit of the process is reached. Releasing the spare
// makes room for exactly one connection, which is sufficient for a probe.
class SpareDescriptor {
 public:
  SpareDescriptor() { Acquire(); }
  ~SpareDescriptor() { Release(); }
  SpareDescriptor(const SpareDescriptor&) = delete;
  SpareDescriptor& operator=(const SpareDescriptor&) = delete;

  // Opens it again if it was released and a descriptor is free.
  void Acquire() {
    if (fd_ < 0) fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }

  // Releases it. False: it was released before.
  bool Release() {
    const int fd = std::exchange(fd_, -1);
    return fd >= 0 && close(fd) == 0;
  }

 private:
  int fd_ = -1;
};

// accept() fails if there are no more descriptors or memory; if none of our
// connections can be closed for it, it would fail again at once.
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

// Accepts every connection at once, so that a probe never waits behind others
// in the kernel's queue. If there are too many, or no descriptor is left, the
// one that has waited longest for its client is closed.
class HttpServer::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::any_io_executor executor, const HttpOptions& options,
           Pages pages)
      : options_(options),
        pages_(std::make_shared<const Pages>(std::move(pages))),
        waiters_(std::make_shared<Waiters>(options.max_connections / 2)),
        acceptor_(executor),
        pause_(executor) {}

  absl::Status Listen() {
    WALPOST_ASSIGN_OR_RETURN(const tcp::endpoint endpoint,
                             ParseListenAddress(options_.listen));
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    // Lingering connections of an earlier process do not block the port.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) acceptor_.non_blocking(true, error);
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("http.listen: cannot listen on {}: {}; {}", options_.listen,
                    error.message(), Remedy(error)));
  }

  // accept() itself is called only if a connection waits: without a free
  // descriptor it fails even if none does.
  void Accept() {
    if (stopped_) return;
    acceptor_.async_wait(
        tcp::acceptor::wait_read,
        [self = shared_from_this()](error_code) { self->OnReadable(); });
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
  void OnReadable() {
    if (stopped_) return;
    tcp::socket socket(acceptor_.get_executor());
    error_code error;
    acceptor_.accept(socket, error);
    const bool no_descriptor =
        error == asio::error::no_descriptors || error.value() == ENFILE;
    if (no_descriptor && (spare_.Release() || CloseSlowest())) {
      acceptor_.accept(socket, error);
    }
    if (!error) StartSession(std::move(socket));
    if (!error || HasGoneAway(error)) {
      Accept();
      return;
    }
    LogWarn("http: cannot accept a connection: {}; trying again in {} s",
            error.message(), kPauseAfterFailedAccept.count());
    pause_.expires_after(kPauseAfterFailedAccept);
    pause_.async_wait(
        [self = shared_from_this()](error_code) { self->Accept(); });
  }

  // True if the waiting client has disconnected.
  static bool HasGoneAway(error_code error) {
    return error == asio::error::would_block ||
           error == asio::error::connection_aborted;
  }

  void StartSession(tcp::socket socket) {
    std::erase_if(sessions_, [](const auto& weak) {
      const auto session = weak.lock();
      return session == nullptr || session->is_closed();
    });
    if (sessions_.size() >= options_.max_connections) CloseSlowest();
    const auto session =
        std::make_shared<HttpSession>(std::move(socket), options_, pages_,
                                      waiters_, [weak = weak_from_this()] {
                                        if (const auto self = weak.lock())
                                          self->spare_.Acquire();
                                      });
    sessions_.push_back(session);
    session->Start();
  }

  // Closes the connection that has waited longest for its client to send a
  // request or, if there is none, for its client to read an answer. False: none
  // is open.
  bool CloseSlowest() {
    std::shared_ptr<HttpSession> slowest;
    for (const auto& weak : sessions_) {
      const auto session = weak.lock();
      if (session == nullptr || session->is_closed()) continue;
      if (slowest == nullptr || ClosesBefore(*session, *slowest)) {
        slowest = session;
      }
    }
    if (slowest == nullptr) return false;
    slowest->Close();
    return true;
  }

  static bool ClosesBefore(const HttpSession& a, const HttpSession& b) {
    return std::tuple(a.is_answering(), a.waiting_since()) <
           std::tuple(b.is_answering(), b.waiting_since());
  }

  const HttpOptions options_;
  // Both shared with the sessions.
  const std::shared_ptr<const Pages> pages_;
  const std::shared_ptr<Waiters> waiters_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  SpareDescriptor spare_;
  // At most options.max_connections are open. Weak: a session is kept alive by
  // its own handlers.
  std::vector<std::weak_ptr<HttpSession>> sessions_;
  bool stopped_ = false;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Create(
    asio::any_io_executor executor, const HttpOptions& options,
    PageSources sources) {
  auto listener =
      std::make_shared<Listener>(executor, options, Pages(std::move(sources)));
  WALPOST_RETURN_IF_ERROR(listener->Listen());
  listener->Accept();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener)));
}

HttpServer::HttpServer(std::shared_ptr<Listener> listener)
    : listener_(std::move(listener)) {}

HttpServer::~HttpServer() { listener_->Stop(); }

uint16_t HttpServer::port() const { return listener_->port(); }

}  // namespace walpost
