#include "rabbitmq/connection.h"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kReadBytes = 65'536;
constexpr std::chrono::milliseconds kHeartbeatTick{250};

}  // namespace

std::shared_ptr<Connection> Connection::Open(asio::any_io_executor executor,
                                             Options options,
                                             Handlers handlers) {
  std::shared_ptr<Connection> connection(
      new Connection(executor, std::move(options), std::move(handlers)));
  // Open returns first, whatever fails.
  asio::post(executor, [connection] {
    asio::co_spawn(connection->executor_, connection->Run(),
                   [connection](std::exception_ptr) {});
  });
  connection->WaitForTick();
  return connection;
}

Connection::Connection(asio::any_io_executor executor, Options options,
                       Handlers handlers)
    : executor_(executor),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      transport_(executor, "rabbitmq"),
      handshake_(std::exchange(options_.handshake, {})),
      timer_(executor),
      opened_at_(Clock::now()) {}

asio::awaitable<void> Connection::Run() {
  const MonotonicTime deadline = opened_at_ + options_.connect_timeout;
  const absl::Status opened =
      co_await transport_.Open(options_.address, options_.tls, deadline);
  if (!opened.ok()) {
    Fail(absl::Status(
        opened.code(),
        fmt::format("RabbitMQ at {}: {}", options_.address.ToString(),
                    std::string(opened.message()))));
    co_return;
  }
  heard_at_ = sent_at_ = Clock::now();
  waiting_ = handshake_.Begin();
  StartWriting();
  Fail(co_await Carry());
}

asio::awaitable<absl::Status> Connection::Carry() {
  std::string buffer(kReadBytes, '\0');
  while (!is_over_) {
    const absl::StatusOr<size_t> size = co_await transport_.Read(buffer);
    if (!size.ok()) {
      co_return absl::UnavailableError(fmt::format(
          "{} at {}: {}", handshake_.attempted(), options_.address.ToString(),
          std::string(size.status().message())));
    }
    heard_at_ = Clock::now();
    reader_.Append(std::string_view(buffer.data(), *size));
    const absl::Status taken = TakeFrames();
    if (!taken.ok()) co_return taken;
    if (!is_over_ && is_ready()) handlers_.on_turn();
  }
  co_return absl::OkStatus();
}

absl::Status Connection::TakeFrames() {
  while (!is_over_) {
    WALPOST_ASSIGN_OR_RETURN(const std::optional<AmqpFrame> frame,
                             reader_.Next());
    if (!frame) return absl::OkStatus();
    if (frame->type == AMQP_FRAME_HEARTBEAT) continue;
    if (is_ready()) {
      WALPOST_RETURN_IF_ERROR(handlers_.on_frame(*frame));
      continue;
    }
    const absl::Status shaken = handshake_.OnFrame(*frame, waiting_);
    StartWriting();
    WALPOST_RETURN_IF_ERROR(shaken);
    if (handshake_.facts().max_frame > 0) {
      reader_.SetMaxFrame(handshake_.facts().max_frame);
    }
    if (is_ready()) handlers_.on_ready();
  }
  return absl::OkStatus();
}

void Connection::Send(std::string_view frames) {
  waiting_ += frames;
  StartWriting();
}

void Connection::SendClose() {
  amqp_connection_close_t close{};
  close.reply_code = AMQP_REPLY_SUCCESS;
  if (is_over_ || !is_ready()) return;
  if (AppendAmqpMethod(0, AMQP_CONNECTION_CLOSE_METHOD, close, waiting_).ok()) {
    StartWriting();
  }
}

void Connection::StartWriting() {
  if (is_writing_ || is_over_ || waiting_.empty()) return;
  is_writing_ = true;
  asio::co_spawn(executor_, WriteAll(),
                 [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<void> Connection::WriteAll() {
  while (!waiting_.empty() && !is_over_) {
    sending_.clear();
    std::swap(sending_, waiting_);
    const absl::Status written = co_await transport_.Write(sending_);
    sending_.clear();
    if (!written.ok()) break;  // the reader says why
    sent_at_ = Clock::now();
    if (!is_over_ && is_ready()) handlers_.on_turn();
  }
  is_writing_ = false;
}

void Connection::WaitForTick() {
  timer_.expires_after(kHeartbeatTick);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr || self->is_over_) return;
    self->Tick();
    if (!self->is_over_) self->WaitForTick();
  });
}

void Connection::Tick() {
  const MonotonicTime now = Clock::now();
  const std::string where = options_.address.ToString();
  if (!is_ready()) {
    if (now - opened_at_ < options_.connect_timeout) return;
    return Fail(absl::UnavailableError(fmt::format(
        "{} at {}: no answer within {} s", handshake_.attempted(), where,
        std::chrono::duration<double>(options_.connect_timeout).count())));
  }
  if (now - heard_at_ > 2 * options_.heartbeat) {
    return Fail(absl::UnavailableError(fmt::format(
        "RabbitMQ at {} has sent nothing for {} s, not even a heartbeat: is it "
        "frozen, or the network cut?",
        where, 2 * options_.heartbeat.count())));
  }
  const bool is_due = now - sent_at_ >= options_.heartbeat / 2;
  if (!is_due || is_writing_) return;
  AppendAmqpHeartbeat(waiting_);
  StartWriting();
}

void Connection::Fail(absl::Status error) {
  if (is_over_) return;
  Abort();
  handlers_.on_failed(error);
}

void Connection::Abort() {
  if (is_over_) return;
  is_over_ = true;
  timer_.cancel();
  transport_.Abort();
}

}  // namespace walpost::rabbitmq
