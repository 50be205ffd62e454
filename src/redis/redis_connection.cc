#include "redis/redis_connection.h"

#include <utility>

#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

RedisConnection::RedisConnection(asio::any_io_executor executor)
    : executor_(executor), timer_(executor) {}

asio::awaitable<absl::Status> RedisConnection::Open(const ServerPlace& place,
                                                    const RedisOptions& options,
                                                    MonotonicTime deadline) {
  if (is_closed_) co_return absl::AbortedError("closed");
  transport_.emplace(executor_, "redis");
  replies_.emplace();
  place_ = place.ToString();
  timed_out_ = false;
  is_tls_ = options.tls.enabled;
  has_spoken_ = false;
  is_open_ = false;
  CloseAt(deadline);
  const absl::Status status =
      co_await transport_->Open(place, options.tls, deadline);
  timer_.cancel();
  heard_at_ = Clock::now();
  if (!status.ok()) co_return Lost(status);
  is_open_ = true;
  co_return status;
}

asio::awaitable<absl::StatusOr<std::vector<Reply>>> RedisConnection::Ask(
    const std::string& commands, size_t replies, MonotonicTime deadline) {
  absl::StatusOr<std::vector<Reply>> answer(absl::in_place);
  CloseAt(deadline);
  absl::Status status = co_await transport_->Write(commands);
  if (!status.ok()) status = Lost(status);
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

asio::awaitable<absl::Status> RedisConnection::Receive() {
  const absl::StatusOr<size_t> size = co_await transport_->Read(received_);
  if (!size.ok()) co_return Lost(size.status());
  heard_at_ = Clock::now();
  has_spoken_ = true;
  co_return replies_->Feed(std::string_view(received_.data(), *size));
}

void RedisConnection::CloseAt(MonotonicTime deadline) {
  timer_.expires_at(deadline);
  timer_.async_wait([this, lifetime = std::weak_ptr<const bool>(lifetime_)](
                        boost::system::error_code error) {
    if (error || lifetime.expired() || timer_.expiry() > Clock::now()) return;
    timed_out_ = true;
    transport_->Abort();
  });
}

void RedisConnection::Close() {
  is_closed_ = true;
  timer_.cancel();
  if (transport_) transport_->Abort();
}

absl::Status RedisConnection::Lost(const absl::Status& error) const {
  if (is_closed_) return absl::AbortedError("closed");
  return absl::Status(error.code(),
                      fmt::format("Redis at {}: {}{}", place_,
                                  timed_out_ ? "no answer in time"
                                             : std::string(error.message()),
                                  TlsHint()));
}

std::string_view RedisConnection::TlsHint() const {
  if (has_spoken_) return "";
  if (is_tls_ && !is_open_ && timed_out_) {
    return "; is it a port for TLS? If not, set redis.tls.enabled: false";
  }
  if (!is_tls_ && is_open_ && !timed_out_) {
    return "; is it a port for TLS? If so, set redis.tls.enabled: true";
  }
  return "";
}

}  // namespace walpost
