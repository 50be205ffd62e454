#include "admin/http_session.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <utility>

namespace walpost {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

// After the last answer: time and bytes for reading what the client may still
// be sending. Closing at once would reset the connection, and the client might
// never see why it was rejected (RFC 9112, 9.6).
constexpr std::chrono::seconds kDiscardTimeout{1};
constexpr size_t kMaxDiscardedBytes = size_t{64} << 10;

// What a browser may do with an answer: use what this server has, and nothing
// else. A picture in an address is the icon of the page.
constexpr char kContentPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
    "'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

void ProtectBrowser(http::fields& fields) {
  fields.set("Content-Security-Policy", kContentPolicy);
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("X-Frame-Options", "DENY");
}

// Between two looks at a page that a client awaits.
constexpr std::chrono::milliseconds kAskAgainAfter{25};

bool IsGetOrHead(http::verb method) {
  return method == http::verb::get || method == http::verb::head;
}

// Answer to a request that could not be read, or that we never serve; nullopt:
// the page may be shown.
std::optional<Page> Refusal(http::verb method, beast::error_code error) {
  if (error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return Page{.status = http::status::request_header_fields_too_large,
                .body = "the request is too large\n"};
  }
  const bool has_body =
      error == http::error::body_limit || error == http::error::unexpected_body;
  if (error && !has_body) {
    return Page{.status = http::status::bad_request,
                .body = "this is not an HTTP request\n"};
  }
  if (!IsGetOrHead(method)) {
    return Page{.status = http::status::method_not_allowed,
                .body = "GET and HEAD only\n"};
  }
  if (has_body) {
    return Page{.status = http::status::payload_too_large,
                .body = "a request has no body here\n"};
  }
  return std::nullopt;
}

// The client disconnected, or never finished: there is nobody to answer.
bool IsEndOfConnection(beast::error_code error) {
  const beast::error_code end_of_stream = http::error::end_of_stream;
  return error &&
         (error.category() != end_of_stream.category() ||
          error == end_of_stream || error == http::error::partial_message);
}

}  // namespace

HttpSession::HttpSession(asio::ip::tcp::socket socket,
                         const HttpOptions& options,
                         std::shared_ptr<const Pages> pages,
                         std::shared_ptr<Waiters> waiters,
                         std::function<void()> on_end)
    : options_(options),
      pages_(std::move(pages)),
      waiters_(std::move(waiters)),
      on_end_(std::move(on_end)),
      stream_(std::move(socket)),
      again_(stream_.get_executor()),
      buffer_(options.max_request_bytes) {}

HttpSession::~HttpSession() { on_end_(); }

void HttpSession::Close() {
  closed_ = true;
  stream_.close();
  again_.cancel();
  place_.reset();
}

void HttpSession::Read() {
  is_answering_ = false;
  waiting_since_ = std::chrono::steady_clock::now();
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options_.max_request_bytes));
  parser_->body_limit(0);
  stream_.expires_after(options_.idle_timeout);
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](beast::error_code error, size_t) {
        self->OnRead(error);
      });
}

void HttpSession::OnRead(beast::error_code error) {
  if (closed_ || IsEndOfConnection(error)) return;
  const auto& request = parser_->get();
  response_ = {};
  response_.version(request.version());
  // After an error the start of the next request is not known. A client that
  // does not wait for an answer before its next request is not served further:
  // it could ask faster than we answer others.
  const bool is_pipelined = buffer_.size() > 0;
  response_.keep_alive(!error && !is_pipelined && request.keep_alive());
  std::optional<Page> refusal = Refusal(request.method(), error);
  if (refusal) {
    Write(*std::move(refusal));
  } else {
    is_answering_ = true;
    waiting_since_ = std::chrono::steady_clock::now();
    Show();
  }
}

void HttpSession::Show() {
  if (closed_) return;
  const auto& request = parser_->get();
  const beast::string_view target = request.target();
  const beast::string_view accept = request[http::field::accept];
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - waiting_since_);
  Page page = pages_->Get({target.data(), target.size()},
                          {accept.data(), accept.size()}, waited);
  if (waited >= page.is_awaited_for) return Write(std::move(page));
  if (!place_ && !(place_ = waiters_->Take())) {
    return Write({.status = http::status::service_unavailable,
                  .body = "too many requests wait here; ask again later\n"});
  }
  again_.expires_after(kAskAgainAfter);
  again_.async_wait(
      [self = shared_from_this()](beast::error_code) { self->Show(); });
}

void HttpSession::Write(Page page) {
  place_.reset();
  is_answering_ = true;
  waiting_since_ = std::chrono::steady_clock::now();
  response_.result(page.status);
  response_.set(http::field::content_type, page.content_type);
  response_.set(http::field::cache_control, "no-store");
  response_.set(http::field::vary, "Accept");
  ProtectBrowser(response_);
  if (page.status == http::status::method_not_allowed) {
    response_.set(http::field::allow, "GET, HEAD");
  }
  response_.content_length(page.body.size());
  if (parser_->get().method() != http::verb::head) {
    response_.body() = std::move(page.body);
  }
  stream_.expires_after(options_.idle_timeout);
  http::async_write(
      stream_, response_,
      [self = shared_from_this()](beast::error_code error, size_t) {
        self->OnWritten(error);
      });
}

void HttpSession::OnWritten(beast::error_code error) {
  if (closed_ || error) return;
  if (response_.keep_alive()) {
    Read();
    return;
  }
  is_answering_ = false;
  beast::error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kDiscardTimeout);
  Discard();
}

void HttpSession::Discard() {
  stream_.async_read_some(
      asio::buffer(discarded_),
      [self = shared_from_this()](beast::error_code error, size_t bytes) {
        self->discarded_bytes_ += bytes;
        if (self->closed_ || error) return;
        if (self->discarded_bytes_ < kMaxDiscardedBytes) self->Discard();
      });
}

}  // namespace walpost
