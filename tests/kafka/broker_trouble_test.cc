#include "kafka/broker_trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BrokerTroubleTest, NamesTheCauseAndTheSettings) {
  BrokerTrouble trouble;
  EXPECT_EQ(trouble.text(), "");
  EXPECT_TRUE(trouble.Note(
      RD_KAFKA_RESP_ERR__AUTHENTICATION,
      "sasl_ssl://host:9093/bootstrap: SASL authentication error: invalid "
      "credentials (after 312ms in state AUTH_REQ, 4 identical error(s) "
      "suppressed)"));
  EXPECT_THAT(trouble.text(), HasSubstr("invalid credentials; check sasl."));
  EXPECT_THAT(trouble.text(), Not(HasSubstr("suppressed")));
}

TEST(BrokerTroubleTest, TheSameAgainIsNoNews) {
  BrokerTrouble trouble;
  const auto code = RD_KAFKA_RESP_ERR__RESOLVE;
  EXPECT_TRUE(trouble.Note(code, "host:9092: unknown (after 2ms in state X)"));
  EXPECT_FALSE(trouble.Note(code, "host:9092: unknown (after 9ms in state X)"));
  trouble.Clear();
  EXPECT_TRUE(trouble.Note(code, "host:9092: unknown"));
}

TEST(BrokerTroubleTest, ACauseCountsMoreThanABrokenConnection) {
  BrokerTrouble trouble;
  EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT, "refused"));
  EXPECT_EQ(trouble.text(), "refused");
  EXPECT_FALSE(trouble.Note(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
                            "1/1 brokers are down"));
  EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__SSL, "certificate expired"));
  EXPECT_FALSE(trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT, "disconnected"));
  EXPECT_THAT(trouble.text(), HasSubstr("certificate expired; check sec"));
}

TEST(BrokerTroubleTest, ABrokenConnectionIsToldInTheLog) {
  BrokerTrouble trouble;
  EXPECT_FALSE(trouble.NoteLog("REQTMOUT", "[thrd:h:1/1]: h:1/1: timed out"));
  EXPECT_TRUE(trouble.NoteLog(
      "FAIL",
      "[thrd:h:1/bootstrap]: h:1/bootstrap: Connect to ipv4#127.0.0.1:1 "
      "failed: Connection refused (after 0ms in state CONNECT)"));
  EXPECT_EQ(trouble.text(),
            "h:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection "
            "refused");
}

TEST(BrokerTroubleTest, ThatAllAreDownIsSaidWhereNothingElseIsKnown) {
  BrokerTrouble trouble;
  EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
                           "1/1 brokers are down"));
  EXPECT_EQ(trouble.text(), "1/1 brokers are down");
}

}  // namespace
}  // namespace walpost
