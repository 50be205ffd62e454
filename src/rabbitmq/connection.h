// Connection: one connection to one server, from the name of its host to the
// last byte: it connects, makes the handshake, and carries frames.
//
//   Open ──▶ on_ready ──▶ on_frame, on_turn ... ──▶ on_failed
//
// Shared with its own coroutines, which end a moment after Abort. Runs on the
// loop. After Abort no handler is called.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/time.h"
#include "loop/transport.h"
#include "rabbitmq/address_list.h"
#include "rabbitmq/handshake.h"
#include "rabbitmq/options.h"

namespace walpost::rabbitmq {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Options {
    ServerPlace address;
    TlsOptions tls;
    Handshake::Options handshake;
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::seconds heartbeat{4};
  };
  struct Handlers {
    std::function<void()> on_ready;
    // A frame behind the handshake. An error fails the connection.
    std::function<absl::Status(const AmqpFrame&)> on_frame;
    // After a portion of frames, or after bytes were sent.
    std::function<void()> on_turn;
    // Once. Nothing follows it.
    std::function<void(const absl::Status&)> on_failed;
  };

  static std::shared_ptr<Connection> Open(boost::asio::any_io_executor executor,
                                          Options options, Handlers handlers);

  // Requires that it is ready.
  void Send(std::string_view frames);
  // Bytes that the kernel has not taken yet.
  size_t unsent_bytes() const { return waiting_.size() + sending_.size(); }
  // Sends connection.close after what was sent so far.
  void SendClose();
  // Ends it at once.
  void Abort();

  bool is_ready() const { return handshake_.is_ready(); }
  const Handshake& handshake() const { return handshake_; }
  const ServerPlace& address() const { return options_.address; }
  // Time of the last bytes of the server.
  MonotonicTime heard_at() const { return heard_at_; }

 private:
  Connection(boost::asio::any_io_executor executor, Options options,
             Handlers handlers);

  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<absl::Status> Carry();
  boost::asio::awaitable<void> WriteAll();
  absl::Status TakeFrames();
  void StartWriting();
  void WaitForTick();
  void Tick();
  void Fail(absl::Status error);

  boost::asio::any_io_executor executor_;
  Options options_;
  Handlers handlers_;
  Transport transport_;
  Handshake handshake_;
  AmqpFrameReader reader_;
  boost::asio::steady_timer timer_;
  std::string waiting_;  // for the coroutine that writes
  std::string sending_;
  bool is_writing_ = false;
  bool is_over_ = false;
  MonotonicTime opened_at_;
  MonotonicTime heard_at_{};
  MonotonicTime sent_at_{};
};

}  // namespace walpost::rabbitmq
