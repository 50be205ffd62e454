#include "loop/address_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace walpost {
namespace {

namespace asio = boost::asio;

using Addresses = absl::StatusOr<std::vector<asio::ip::address>>;

Addresses Find(const std::string& host) {
  asio::io_context io(1);
  std::optional<Addresses> found;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  asio::co_spawn(io, FindAddresses(io.get_executor(), host, deadline),
                 [&found](std::exception_ptr, Addresses addresses) {
                   found = std::move(addresses);
                 });
  io.run();
  return *found;
}

TEST(AddressLookupTest, AnAddressIsItself) {
  for (const char* text : {"127.0.0.1", "::1", "10.1.2.3"}) {
    const Addresses found = Find(text);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->front().to_string(), text);
  }
}

TEST(AddressLookupTest, ANameHasItsAddressesOnceEach) {
  Addresses found = Find("localhost");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(std::ranges::all_of(
      *found, [](const auto& address) { return address.is_loopback(); }));
  std::ranges::sort(*found);
  EXPECT_EQ(std::ranges::adjacent_find(*found), found->end());
}

TEST(AddressLookupTest, WhatIsNoNameIsSaid) {
  const Addresses found = Find("a name with spaces");
  EXPECT_TRUE(absl::IsUnavailable(found.status())) << found.status();
  EXPECT_NE(found.status().message(), "");
}

}  // namespace
}  // namespace walpost
