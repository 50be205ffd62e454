// HttpSession: one connection of the HTTP server.
//
// Reads a request, answers it, and so on while the client keeps the
// connection and does not pipeline requests. GET and HEAD; requests have no
// body. Each request has options.idle_timeout to arrive whole, and its answer
// as long to be taken.
//
// Shared: the handlers of the operations under way keep it alive, nobody else
// does. When the last has run, it ends and calls `on_end`.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "admin/http_options.h"
#include "admin/pages.h"
#include "base/time.h"

namespace walpost {

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(boost::asio::ip::tcp::socket socket, const HttpOptions& options,
              std::shared_ptr<const Pages> pages, std::function<void()> on_end);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void Start() { Read(); }

  // Whether it has the whole of a request and is sending the answer.
  bool is_answering() const { return is_answering_; }
  // Since when it has been reading the current request, or sending its answer.
  MonotonicTime waiting_since() const { return waiting_since_; }

  bool is_closed() const { return closed_; }
  // Breaks the connection off. Shows no page any more, not even to a request
  // that has already arrived.
  void Close();

 private:
  void Read();
  void OnRead(boost::beast::error_code error);
  void Write(Page page);
  void OnWritten(boost::beast::error_code error);
  void Discard();

  const HttpOptions options_;
  const std::shared_ptr<const Pages> pages_;  // outlives the server with us
  const std::function<void()> on_end_;
  bool closed_ = false;
  bool is_answering_ = false;
  MonotonicTime waiting_since_{};

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  // Of the request that is being read or answered. A parser reads one.
  std::optional<
      boost::beast::http::request_parser<boost::beast::http::empty_body>>
      parser_;
  boost::beast::http::response<boost::beast::http::string_body> response_;

  std::array<char, 1024> discarded_;
  size_t discarded_bytes_ = 0;
};

}  // namespace walpost
