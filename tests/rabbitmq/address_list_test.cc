#include "rabbitmq/address_list.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost::rabbitmq {
namespace {

std::string Text(std::string_view list, bool with_tls = false) {
  const auto addresses = ParseRabbitmqAddresses(list, with_tls);
  if (!addresses.ok()) return std::string(addresses.status().message());
  std::string text;
  for (const ServerPlace& address : *addresses) {
    text += address.ToString() + " ";
  }
  return text;
}

TEST(AddressListTest, ReadsHostsWithAndWithoutPorts) {
  EXPECT_EQ(Text("mq1:5673, mq2,127.0.0.1"),
            "mq1:5673 mq2:5672 127.0.0.1:5672 ");
  EXPECT_EQ(Text("mq1", true), "mq1:5671 ");
  EXPECT_EQ(Text("[::1]:1, [fe80::2]"), "[::1]:1 [fe80::2]:5672 ");
}

TEST(AddressListTest, RejectsWhatIsNoAddress) {
  for (const char* text : {"mq:x", "mq:0", "mq:70000", "[::1", "mq1,,mq2",
                           ":5672", "amqp://mq1", "mq:1:2"}) {
    EXPECT_NE(Text(text).find("is not HOST or HOST:PORT"), std::string::npos)
        << text << ": " << Text(text);
  }
  EXPECT_NE(Text("").find("rabbitmq.nodes is missing"), std::string::npos);
}

}  // namespace
}  // namespace walpost::rabbitmq
