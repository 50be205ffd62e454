#include "postgres/connect/host_lookup.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace walpost {
namespace {

namespace asio = boost::asio;

using Addresses = std::vector<ServerAddress>;

absl::StatusOr<Addresses> LookUp(const Addresses& hosts) {
  asio::io_context io;
  absl::StatusOr<Addresses> found = absl::UnknownError("never ended");
  const MonotonicTime deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        found = co_await LookUpHosts(io.get_executor(), hosts, deadline);
      },
      asio::detached);
  io.run();
  return found;
}

TEST(WithAddressesTest, ANameStandsAsOftenAsItHasAddresses) {
  const Addresses hosts = {{"a", "", "1"},
                           {"none", "", "2"},
                           {"/tmp", "", "3"},
                           {"10.0.0.9", "", "4"},
                           {"b", "10.0.0.8", "5"}};
  const std::vector<std::vector<std::string>> addresses = {
      {"::1", "127.0.0.1"}, {}, {}, {}, {}};
  std::string text;
  for (const ServerAddress& place : WithAddresses(hosts, addresses)) {
    text += place.host + '/' + place.hostaddr + ':' + place.port + ' ';
  }
  EXPECT_EQ(text, "a/::1:1 a/127.0.0.1:1 /tmp/:3 10.0.0.9/:4 b/10.0.0.8:5 ");
}

TEST(LookUpHostsTest, FindsLocalhost) {
  const auto found = LookUp({{"localhost", "", "1"}});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->back().host, "localhost");
  EXPECT_EQ(found->back().hostaddr, "127.0.0.1");
}

TEST(LookUpHostsTest, AHostWithoutAnAddressLeavesTheOthers) {
  const auto found =
      LookUp({{"no-such-host.invalid", "", "1"}, {"localhost", "", "2"}});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->front().host, "localhost");
  EXPECT_EQ(found->front().port, "2");
}

TEST(LookUpHostsTest, NoAddressAtAllNamesTheHosts) {
  const auto found = LookUp({{"no-such-host.invalid", "", "1"}});
  EXPECT_TRUE(absl::IsUnavailable(found.status())) << found.status();
  EXPECT_NE(found.status().message().find("\"no-such-host.invalid\""),
            absl::string_view::npos);
}

}  // namespace
}  // namespace walpost
