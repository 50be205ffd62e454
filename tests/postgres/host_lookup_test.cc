#include "postgres/host_lookup.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>

namespace walpost {
namespace {

namespace asio = boost::asio;

// "name:port name:port", or why not.
std::string ToLookUp(const std::string& conninfo) {
  const auto hosts = HostsToLookUp(conninfo);
  if (!hosts.ok()) return std::string(hosts.status().message());
  std::string text;
  for (const ServerHost& host : *hosts) {
    if (!text.empty()) text += ' ';
    text += host.name + ':' + host.port;
  }
  return text;
}

absl::StatusOr<HostAddresses> LookUp(const std::string& conninfo) {
  asio::io_context io;
  absl::StatusOr<HostAddresses> found = absl::UnknownError("never ended");
  const MonotonicTime deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const auto hosts = HostsToLookUp(conninfo);
        found = co_await LookUpHosts(io.get_executor(), *hosts, deadline);
      },
      asio::detached);
  io.run();
  return found;
}

TEST(HostsToLookUpTest, NamesWithTheirPorts) {
  EXPECT_EQ(ToLookUp("host=db dbname=shop"), "db:5432");
  EXPECT_EQ(ToLookUp("host=a,b port=1,2"), "a:1 b:2");
  EXPECT_EQ(ToLookUp("host=a,b port=6432"), "a:6432 b:6432");
  EXPECT_EQ(ToLookUp("host=a,b port=,2"), "a:5432 b:2");
  EXPECT_EQ(ToLookUp("postgresql://u@a:1,b:2/shop"), "a:1 b:2");
  EXPECT_EQ(ToLookUp("host=10.0.0.1,db"), "10.0.0.1:5432 db:5432");
}

TEST(HostsToLookUpTest, NothingWhereLibpqNeedsNone) {
  for (const char* conninfo :
       {"host=127.0.0.1", "host=::1,10.0.0.1", "host=/run/postgresql",
        "host=@abstract", "dbname=shop", "host=db hostaddr=10.0.0.1",
        "host=db service=shop", "host=a,b port=1,2,3"}) {
    EXPECT_EQ(ToLookUp(conninfo), "") << conninfo;
  }
}

TEST(HostsToLookUpTest, TheEnvironmentGivesWhatTheConninfoLeavesOut) {
  setenv("PGHOST", "from.environment", 1);
  setenv("PGPORT", "7", 1);
  EXPECT_EQ(ToLookUp("dbname=shop"), "from.environment:7");
  EXPECT_EQ(ToLookUp("host=db"), "db:7");
  unsetenv("PGHOST");
  unsetenv("PGPORT");
}

TEST(HostsToLookUpTest, AMalformedConninfoIsRefused) {
  EXPECT_EQ(ToLookUp("host"), "postgres.conninfo does not parse");
}

TEST(ToHostAddressesTest, AHostStandsAsOftenAsItHasAddresses) {
  const std::vector<ServerHost> hosts = {
      {"a", "1"}, {"none", "2"}, {"/tmp", "3"}, {"10.0.0.9", "4"}};
  const std::vector<std::vector<std::string>> addresses = {
      {"::1", "127.0.0.1"}, {}, {""}, {"10.0.0.9"}};
  const HostAddresses merged = ToHostAddresses(hosts, addresses);
  EXPECT_EQ(merged.host, "a,a,/tmp,10.0.0.9");
  EXPECT_EQ(merged.hostaddr, "::1,127.0.0.1,,10.0.0.9");
  EXPECT_EQ(merged.port, "1,1,3,4");
}

TEST(LookUpHostsTest, FindsLocalhost) {
  const auto found = LookUp("host=localhost");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NE(found->hostaddr.find("127.0.0.1"), std::string::npos)
      << found->hostaddr;
}

TEST(LookUpHostsTest, AHostWithoutAnAddressLeavesTheOthers) {
  const auto found = LookUp("host=no-such-host.invalid,localhost port=1,2");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->host.find("no-such-host"), std::string::npos);
  EXPECT_EQ(found->port.substr(0, 1), "2");
}

TEST(LookUpHostsTest, NoAddressAtAllNamesTheHosts) {
  const auto found = LookUp("host=no-such-host.invalid");
  EXPECT_TRUE(absl::IsUnavailable(found.status())) << found.status();
  EXPECT_NE(found.status().message().find("\"no-such-host.invalid\""),
            absl::string_view::npos);
}

}  // namespace
}  // namespace walpost
