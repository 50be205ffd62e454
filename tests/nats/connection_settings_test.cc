#include "nats/connection_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nats/connection_trouble.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NatsOptions Options() {
  NatsOptions options;
  options.servers = "nats://127.0.0.1:4222";
  return options;
}

std::string FlawOf(const NatsOptions& options) {
  return std::string(CheckNatsOptions(options).message());
}

TEST(ConnectionSettingsTest, ServersHaveASchemeAndAPort) {
  EXPECT_THAT(ServerUrls("a, nats://b:1,tls://c,[::1], "),
              ElementsAre("nats://a:4222", "nats://b:1", "tls://c:4222",
                          "nats://[::1]:4222"));
}

TEST(ConnectionSettingsTest, TlsIsInTheSchemeToo) {
  NatsOptions options = Options();
  EXPECT_FALSE(ConnectionSettings(options)->tls.enabled);
  options.servers = "tls://a";
  EXPECT_TRUE(ConnectionSettings(options)->tls.enabled);
}

TEST(ConnectionSettingsTest, FlawsNameTheirKey) {
  EXPECT_EQ(FlawOf(Options()), "");
  NatsOptions options;
  EXPECT_THAT(FlawOf(options), HasSubstr("nats.servers"));
  options.servers = "http://a";
  EXPECT_THAT(FlawOf(options), HasSubstr("nats.servers"));
  options.servers = "nats://u:p@a";
  EXPECT_THAT(FlawOf(options), HasSubstr("nats.user"));
  options = Options();
  options.user = "u";
  EXPECT_THAT(FlawOf(options), HasSubstr("nats.password"));
  options.password = "p";
  options.token = "t";
  EXPECT_THAT(FlawOf(options), HasSubstr("one of"));
  options = Options();
  options.create_stream = NatsStreamCreation();
  EXPECT_THAT(FlawOf(options), HasSubstr("create_stream.name"));
  options.create_stream->name = "A";
  EXPECT_THAT(FlawOf(options), HasSubstr("create_stream.subjects"));
}

TEST(ConnectionTroubleTest, TheAdviceNamesWhatToCheck) {
  const auto rejected =
      ConnectionTroubleOf("connecting: Authorization Violation", "a");
  EXPECT_TRUE(rejected.is_of_credentials);
  EXPECT_THAT(rejected.advice, HasSubstr("nats.user"));
  const auto tls = ConnectionTroubleOf("SSL Error: certificate expired", "a");
  EXPECT_TRUE(tls.is_of_credentials);
  EXPECT_THAT(tls.advice, HasSubstr("nats.tls"));
  const auto other = ConnectionTroubleOf("No server available", "a:1");
  EXPECT_FALSE(other.is_of_credentials);
  EXPECT_THAT(other.advice, HasSubstr("a:1"));
}

TEST(ConnectionTroubleTest, ADeniedSubjectIsRead) {
  EXPECT_EQ(DeniedSubject("Permissions Violation for Publish to \"a.b\""),
            "a.b");
  EXPECT_EQ(DeniedSubject("Slow Consumer"), "");
}

}  // namespace
}  // namespace walpost
