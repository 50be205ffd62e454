#include "base/kafka_user.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(KafkaUserTest, ACommandNamesTheUserIfItIsKnown) {
  const KafkaUser user = KafkaUserOf(
      "k:9092", {{"sasl.password", "secret"}, {"sasl.username", "relay"}});
  EXPECT_EQ(GrantTo(user),
            "kafka-acls.sh --bootstrap-server k:9092 --add --allow-principal "
            "'User:relay'");
  EXPECT_EQ(GrantTo(KafkaUserOf("k:9092", {})),
            "kafka-acls.sh --bootstrap-server k:9092 --add --allow-principal "
            "'User:<principal of walpost>'");
}

TEST(KafkaUserTest, ANameThatCannotBeReadIsNotKnown) {
  const ReloadableText lost(
      "${file:/gone}", [] { return absl::UnavailableError("no such file"); });
  EXPECT_EQ(KafkaUserOf("k:9092", {{"sasl.username", lost}}).name, "");
}

}  // namespace
}  // namespace walpost
