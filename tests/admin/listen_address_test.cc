#include "admin/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

using ::testing::HasSubstr;

struct Listen {
  const char* name;
  const char* text;
  const char* address;  // nullptr: refused
  int port;
};

void PrintTo(const Listen& listen, std::ostream* out) { *out << listen.name; }

class ParseListenAddressTest : public ::testing::TestWithParam<Listen> {};

TEST_P(ParseListenAddressTest, TakesAnAddressAndAPort) {
  const Listen& listen = GetParam();
  const auto endpoint = ParseListenAddress(listen.text);
  if (listen.address == nullptr) {
    EXPECT_EQ(endpoint.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string message(endpoint.status().message());
    EXPECT_THAT(message, HasSubstr("http.listen: '" + std::string(listen.text) +
                                   "' is not an address and a port"));
    EXPECT_THAT(message, HasSubstr("127.0.0.1:9187"));
    return;
  }
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->address().to_string(), listen.address);
  EXPECT_EQ(endpoint->port(), listen.port);
}

INSTANTIATE_TEST_SUITE_P(
    , ParseListenAddressTest,
    ::testing::Values(Listen{"Loopback", "127.0.0.1:9187", "127.0.0.1", 9187},
                      Listen{"AllOfIpv4", "0.0.0.0:80", "0.0.0.0", 80},
                      Listen{"FreePort", "127.0.0.1:0", "127.0.0.1", 0},
                      Listen{"HighestPort", "127.0.0.1:65535", "127.0.0.1",
                             65535},
                      Listen{"Localhost", "localhost:9187", "127.0.0.1", 9187},
                      Listen{"Ipv6", "[::1]:9187", "::1", 9187},
                      Listen{"AllOfIpv6", "[::]:9187", "::", 9187},
                      Listen{"Empty", "", nullptr, 0},
                      Listen{"PortOnly", "9187", nullptr, 0},
                      Listen{"NoHost", ":9187", nullptr, 0},
                      Listen{"NoPort", "127.0.0.1:", nullptr, 0},
                      Listen{"PortTooHigh", "127.0.0.1:65536", nullptr, 0},
                      Listen{"NegativePort", "127.0.0.1:-1", nullptr, 0},
                      Listen{"PortWithRest", "127.0.0.1:80/x", nullptr, 0},
                      Listen{"Ipv6WithoutBrackets", "::1:9187", nullptr, 0},
                      Listen{"Ipv4InBrackets", "[127.0.0.1]:9187", nullptr, 0},
                      Listen{"OneBracket", "[::1:9187", nullptr, 0},
                      Listen{"BracketOnly", "[:9187", nullptr, 0},
                      Listen{"HostName", "relay.example:9187", nullptr, 0}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace walpost
