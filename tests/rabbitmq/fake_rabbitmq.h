// FakeRabbitmq: a server that says what a test wants, and when.
//
//   FakeRabbitmq server(io);
//   options.nodes = server.address();
//   ... a connection is opened, and a message published ...
//   server.Send(BlockedFrame("memory"));
//
// On the test's own loop, without threads. It opens what it is asked to open,
// and confirms what was published, unless it is told otherwise.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <utility>

#include "rabbitmq/wire.h"

namespace walpost::rabbitmq {

inline std::string BlockedFrame(std::string_view reason) {
  amqp_connection_blocked_t blocked{};
  blocked.reason = AmqpBytes(reason);
  return MethodFrame(AMQP_CONNECTION_BLOCKED_METHOD, blocked, 0);
}
inline std::string UnblockedFrame() {
  return MethodFrame(AMQP_CONNECTION_UNBLOCKED_METHOD,
                     amqp_connection_unblocked_t{}, 0);
}
inline std::string AckFrame(uint64_t tag) {
  amqp_basic_ack_t ack{};
  ack.delivery_tag = tag;
  return MethodFrame(AMQP_BASIC_ACK_METHOD, ack);
}
inline std::string NackFrame(uint64_t tag) {
  amqp_basic_nack_t nack{};
  nack.delivery_tag = tag;
  return MethodFrame(AMQP_BASIC_NACK_METHOD, nack);
}

class FakeRabbitmq {
 public:
  explicit FakeRabbitmq(boost::asio::io_context& io)
      : acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}), peer_(io) {
    boost::asio::co_spawn(io, Accept(), boost::asio::detached);
  }

  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  void RefuseLogins(bool refuses) { refuses_logins_ = refuses; }
  void Confirm(bool confirms) { confirms_ = confirms; }
  // To the last connection.
  void Send(const std::string& frames) {
    boost::asio::write(peer_, boost::asio::buffer(frames));
  }

  size_t connections() const { return connections_; }
  // Messages of the last connection.
  uint64_t published() const { return published_; }
  bool was_closed_in_order() const { return was_closed_; }

 private:
  using Tcp = boost::asio::ip::tcp;

  boost::asio::awaitable<void> Accept() {
    for (;;) {
      peer_ = co_await acceptor_.async_accept(boost::asio::use_awaitable);
      ++connections_;
      published_ = 0;
      co_await Serve();
    }
  }

  // Until the client has gone.
  boost::asio::awaitable<void> Serve() {
    try {
      std::string bytes(8, '\0');  // the header of the protocol
      co_await boost::asio::async_read(peer_, boost::asio::buffer(bytes),
                                       boost::asio::use_awaitable);
      std::string answer = StartFrame("PLAIN");
      AmqpFrameReader reader;
      reader.SetMaxFrame(1 << 20);
      for (;;) {
        co_await boost::asio::async_write(peer_, boost::asio::buffer(answer),
                                          boost::asio::use_awaitable);
        bytes.resize(65'536);
        bytes.resize(co_await peer_.async_read_some(
            boost::asio::buffer(bytes), boost::asio::use_awaitable));
        reader.Append(bytes);
        answer = AnswerAll(reader);
      }
    } catch (const std::exception&) {
    }
  }

  std::string AnswerAll(AmqpFrameReader& reader) {
    std::string answer;
    for (;;) {
      const auto frame = reader.Next();
      EXPECT_TRUE(frame.ok()) << frame.status();
      if (!frame.ok() || !*frame) return answer;
      if ((*frame)->type != AMQP_FRAME_METHOD) continue;
      const auto method = decoder_.Method((*frame)->payload);
      EXPECT_TRUE(method.ok()) << method.status();
      if (method.ok()) answer += AnswerTo(method->id);
    }
  }

  std::string AnswerTo(amqp_method_number_t id) {
    switch (id) {
      case AMQP_CONNECTION_START_OK_METHOD:
        return refuses_logins_
                   ? CloseFrame(403,
                                "ACCESS_REFUSED - Login was refused using "
                                "authentication mechanism PLAIN",
                                /*of_channel=*/false)
                   : TuneFrame(131'072);
      case AMQP_CONNECTION_OPEN_METHOD:
        return MethodFrame(AMQP_CONNECTION_OPEN_OK_METHOD,
                           amqp_connection_open_ok_t{}, 0);
      case AMQP_CHANNEL_OPEN_METHOD:
        return MethodFrame(AMQP_CHANNEL_OPEN_OK_METHOD,
                           amqp_channel_open_ok_t{});
      case AMQP_EXCHANGE_DECLARE_METHOD:
        return MethodFrame(AMQP_EXCHANGE_DECLARE_OK_METHOD,
                           amqp_exchange_declare_ok_t{});
      case AMQP_CONFIRM_SELECT_METHOD:
        return MethodFrame(AMQP_CONFIRM_SELECT_OK_METHOD,
                           amqp_confirm_select_ok_t{});
      case AMQP_BASIC_PUBLISH_METHOD:
        ++published_;
        return confirms_ ? AckFrame(published_) : "";
      case AMQP_CONNECTION_CLOSE_METHOD:
        was_closed_ = true;
        return MethodFrame(AMQP_CONNECTION_CLOSE_OK_METHOD,
                           amqp_connection_close_ok_t{}, 0);
      default:
        return "";
    }
  }

  Tcp::acceptor acceptor_;
  Tcp::socket peer_;
  AmqpDecoder decoder_;
  bool refuses_logins_ = false;
  bool confirms_ = true;
  size_t connections_ = 0;
  uint64_t published_ = 0;
  bool was_closed_ = false;
};

}  // namespace walpost::rabbitmq
