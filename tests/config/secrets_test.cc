#include "config/secrets.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

// CONFIGURATION.md of librdkafka 2.x: what it calls sensitive itself, and
// what may hold a key or a token.
TEST(SecretsTest, KnowsLibrdkafkasSecrets) {
  for (const char* name : {
           "sasl.password",
           "sasl.jaas.config",
           "sasl.username",
           "ssl.key.password",
           "ssl.key.pem",
           "ssl.keystore.password",
           "sasl.oauthbearer.client.secret",
           "sasl.oauthbearer.config",
           "sasl.oauthbearer.assertion.private.key.passphrase",
           "sasl.oauthbearer.assertion.private.key.pem",
       }) {
    EXPECT_TRUE(IsSecretProperty(name)) << name;
  }
}

TEST(SecretsTest, ShowsWhatIsNone) {
  for (const char* name :
       {"", "linger.ms", "compression.type", "security.protocol",
        "sasl.mechanism", "sasl.mechanisms", "ssl.ca.location",
        "ssl.key.location", "ssl.certificate.location", "message.max.bytes",
        "enable.ssl.certificate.verification", "debug"}) {
    EXPECT_FALSE(IsSecretProperty(name)) << name;
  }
}

}  // namespace
}  // namespace walpost
