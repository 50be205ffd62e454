// HttpSession: one connection of the HTTP server.
//
// Reads a request, answers it, and repeats this while the client keeps the
// connection and does not pipeline requests. GET and HEAD; requests have no
// body. Each request has options.idle_timeout to arrive completely, and the
// client has as long to read the answer.
//
// Shared: only the handlers of pending operations keep it alive. After the last
// one it is destroyed and calls `on_end`.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "admin/http_options.h"
#include "admin/pages.h"
#include "base/time.h"

namespace walpost {

// Waiters: limits the requests that wait for their page. The other connections
// are left for requests that are answered at once, such as probes.
class Waiters : public std::enable_shared_from_this<Waiters> {
 public:
  explicit Waiters(size_t limit) : limit_(limit) {}

  // A place, until it is released; nullptr: all are taken.
  std::shared_ptr<void> Take() {
    if (count_ >= limit_) return nullptr;
    ++count_;
    return {this, [self = shared_from_this()](void*) { --self->count_; }};
  }

 private:
  const size_t limit_;
  size_t count_ = 0;
};

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(boost::asio::ip::tcp::socket socket, const HttpOptions& options,
              std::shared_ptr<const Pages> pages,
              std::shared_ptr<Waiters> waiters, std::function<void()> on_end);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void Start() { Read(); }

  // True if it has received a whole request and is sending the answer.
  bool is_answering() const { return is_answering_; }
  // Start of reading the current request, or of sending its answer.
  MonotonicTime waiting_since() const { return waiting_since_; }

  bool is_closed() const { return closed_; }
  // Closes the connection. Shows no page any more, not even for a request that
  // has already arrived.
  void Close();

 private:
  void Read();
  void OnRead(boost::beast::error_code error);
  // Shows the requested page. If the page waits for something, shows it then.
  void Show();
  void Write(Page page);
  void OnWritten(boost::beast::error_code error);
  void Discard();

  const HttpOptions options_;
  const std::shared_ptr<const Pages> pages_;  // may outlive the server
  const std::shared_ptr<Waiters> waiters_;    // likewise
  const std::function<void()> on_end_;
  bool closed_ = false;
  bool is_answering_ = false;
  MonotonicTime waiting_since_{};

  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer again_;
  std::shared_ptr<void> place_;  // while the page is awaited
  boost::beast::flat_buffer buffer_;
  // For the current request. A parser reads one.
  std::optional<
      boost::beast::http::request_parser<boost::beast::http::empty_body>>
      parser_;
  boost::beast::http::response<boost::beast::http::string_body> response_;

  std::array<char, 1024> discarded_;
  size_t discarded_bytes_ = 0;
};

}  // namespace walpost
