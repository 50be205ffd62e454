#include "loop/transport.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace walpost {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class TransportTest : public ::testing::Test {
 protected:
  // The end of the operation. The loop runs until then.
  template <typename T>
  T Await(asio::awaitable<T> operation) {
    std::optional<T> result;
    asio::co_spawn(
        io_, std::move(operation),
        [&result](std::exception_ptr, T value) { result = std::move(value); });
    io_.restart();
    io_.run();
    return *std::move(result);
  }
  absl::Status Open(const TlsOptions& tls = {}) {
    return Await(transport_.Open(
        {"127.0.0.1", acceptor_.local_endpoint().port()}, tls,
        std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  }

  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  Transport transport_{io_.get_executor(), "redis"};
};

TEST_F(TransportTest, BytesGoBothWays) {
  ASSERT_TRUE(Open().ok());
  tcp::socket peer = acceptor_.accept();
  ASSERT_TRUE(Await(transport_.Write("there")).ok());
  std::string there(5, '\0');
  asio::read(peer, asio::buffer(there));
  EXPECT_EQ(there, "there");
  peer.send(asio::buffer("back", 4));
  std::string back(16, '\0');
  const absl::StatusOr<size_t> size = Await(transport_.Read(back));
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(back.substr(0, *size), "back");
}

TEST_F(TransportTest, TheEndIsSaid) {
  ASSERT_TRUE(Open().ok());
  acceptor_.accept().close();
  std::string bytes(16, '\0');
  EXPECT_EQ(Await(transport_.Read(bytes)).status(),
            absl::UnavailableError("the server has closed the connection"));
}

TEST_F(TransportTest, NobodyListens) {
  const uint16_t port = acceptor_.local_endpoint().port();
  acceptor_.close();
  EXPECT_EQ(Await(transport_.Open({"127.0.0.1", port}, {},
                                  std::chrono::steady_clock::now())),
            absl::UnavailableError("Connection refused"));
}

TEST_F(TransportTest, AFileOfTlsIsNamed) {
  const absl::Status status =
      Open({.enabled = true, .ca_file = "/nowhere/ca.pem"});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("redis.tls.ca_file"), std::string::npos)
      << status;
}

// The peer gets a reset, and not the rest of what was on its way.
TEST_F(TransportTest, P3WhatWasOnItsWayIsDroppedByAbort) {
  ASSERT_TRUE(Open().ok());
  tcp::socket peer = acceptor_.accept();
  transport_.Abort();
  char byte = 0;
  boost::system::error_code error;
  peer.read_some(asio::buffer(&byte, 1), error);
  EXPECT_EQ(error, asio::error::connection_reset);
  EXPECT_FALSE(Await(transport_.Write("late")).ok());
}

}  // namespace
}  // namespace walpost
