#include "kafka/client/connection_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConnectionDiagnosisTest, NamesTheCauseAndTheSettings) {
  ConnectionDiagnosis trouble;
  EXPECT_EQ(trouble.text(), "");
  EXPECT_TRUE(trouble.Note(
      RD_KAFKA_RESP_ERR__AUTHENTICATION,
      "sasl_ssl://host:9093/bootstrap: SASL authentication error: invalid "
      "credentials (after 312ms in state AUTH_REQ, 4 identical error(s) "
      "suppressed)"));
  EXPECT_THAT(trouble.text(), HasSubstr("invalid credentials; check sasl."));
  EXPECT_THAT(trouble.text(), Not(HasSubstr("suppressed")));
}

TEST(ConnectionDiagnosisTest, TellsPasswordsAndCertificatesFromTheRest) {
  const auto is_of_credentials = [](rd_kafka_resp_err_t code,
                                    std::string_view text) {
    ConnectionDiagnosis trouble;
    trouble.Note(code, text);
    return trouble.is_of_credentials();
  };
  EXPECT_TRUE(is_of_credentials(RD_KAFKA_RESP_ERR__AUTHENTICATION,
                                "sasl_ssl://host:9093/bootstrap: SASL "
                                "authentication error: invalid credentials"));
  EXPECT_TRUE(is_of_credentials(
      RD_KAFKA_RESP_ERR__SSL,
      "ssl://host:9093/bootstrap: SSL handshake failed: "
      "error:0A000086:SSL routines::certificate verify failed"));
  EXPECT_FALSE(is_of_credentials(
      RD_KAFKA_RESP_ERR__TRANSPORT,
      "host:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: "
      "Connection refused"));
  ConnectionDiagnosis trouble;
  trouble.Note(RD_KAFKA_RESP_ERR__AUTHENTICATION, "invalid credentials");
  trouble.OnUp({1});
  EXPECT_FALSE(trouble.is_of_credentials());
}

TEST(ConnectionDiagnosisTest, ABrokerThatWasUpAsksForALogin) {
  const char* text =
      "sasl_ssl://h:1/1: SASL OAUTHBEARER mechanism handshake failed: Broker: "
      "Request not valid in current SASL state: broker's supported "
      "mechanisms: ";
  ConnectionDiagnosis trouble;
  trouble.Note(RD_KAFKA_RESP_ERR__AUTHENTICATION, text);
  EXPECT_THAT(std::string(trouble.remedy()), HasSubstr("asks for no password"));
  trouble.OnUp({1});
  trouble.Note(RD_KAFKA_RESP_ERR__AUTHENTICATION, text);
  EXPECT_EQ(trouble.remedy(), "");
}

TEST(ConnectionDiagnosisTest, ReportsTheFailureOfATokenProgram) {
  ConnectionDiagnosis trouble;
  trouble.Note(RD_KAFKA_RESP_ERR__AUTHENTICATION,
               "kafka.token_command: sh exited with code 3");
  EXPECT_TRUE(trouble.is_of_credentials());
  EXPECT_THAT(std::string(trouble.remedy()), HasSubstr("must print a token"));
  trouble.Note(RD_KAFKA_RESP_ERR__AUTHENTICATION,
               "Kafka rejects the token of kafka.token_command: h:1/1: x");
  EXPECT_THAT(std::string(trouble.remedy()), HasSubstr("compare the audience"));
}

TEST(ConnectionDiagnosisTest, QuotesNoPieceOfATokenConfiguration) {
  for (const char* text :
       {"Unrecognized sasl.oauthbearer.config beginning at: pass=s3cret",
        "Invalid sasl.oauthbearer.config: '\"' cannot appear in scope: s3cret",
        "Invalid sasl.oauthbearer.config: non-integral 'lifeSeconds': "
        "s3cret"}) {
    ConnectionDiagnosis trouble;
    EXPECT_TRUE(trouble.Note(
        RD_KAFKA_RESP_ERR__AUTHENTICATION,
        std::string("Failed to acquire SASL OAUTHBEARER token: ") + text));
    EXPECT_THAT(trouble.text(),
                AllOf(Not(HasSubstr("s3cret")),
                      HasSubstr("sasl.oauthbearer.config; check sasl.oauth")));
  }
}

TEST(ConnectionDiagnosisTest, TheMomentOfAClosedConnectionTellsTheCause) {
  const struct {
    const char* line;
    const char* remedy;
  } kRows[] = {
      {"h:1/bootstrap: Disconnected: connection closed by peer: receive 0 "
       "after POLLIN (after 2ms in state APIVERSION_QUERY)",
       "set security.protocol to SSL or SASL_SSL"},
      {"sasl_plaintext://h:1/bootstrap: Disconnected: connection closed by "
       "peer: receive 0 after POLLIN (after 3ms in state APIVERSION_QUERY)",
       "set security.protocol to SASL_SSL"},
      {"ssl://h:1/bootstrap: Disconnected: SSL connection closed by peer "
       "(after 0ms in state UP)",
       "set security.protocol to SASL_SSL"},
      {"h:1/bootstrap: Disconnected: connection closed by peer: receive 0 "
       "after POLLIN (after 999ms in state UP, 1 identical error(s) "
       "suppressed)",
       "set security.protocol to SASL_PLAINTEXT"},
      {"ssl://h:1/bootstrap: SSL handshake failed: Disconnected: SSL "
       "connection closed by peer: connecting to a PLAINTEXT broker listener? "
       "(after 1ms in state SSL_HANDSHAKE)",
       "set security.protocol to PLAINTEXT or SASL_PLAINTEXT"},
      {"ssl://h:1/bootstrap: Receive failed: error:0A000412:SSL routines::"
       "sslv3 alert bad certificate: SSL alert number 42 (after 0ms in state "
       "APIVERSION_QUERY)",
       "ssl.certificate.location and ssl.key.location"},
      {"sasl_plaintext://h:1/bootstrap: SASL PLAIN mechanism handshake failed: "
       "Broker: Request not valid in current SASL state: broker's supported "
       "mechanisms:  (after 3ms in state AUTH_HANDSHAKE)",
       "set security.protocol to PLAINTEXT or SSL"},
      // A broker that stops.
      {"h:1/1: Disconnected: connection closed by peer: receive 0 after POLLIN "
       "(after 1000ms in state UP)",
       ""},
      {"sasl_ssl://h:1/1: Disconnected: SSL connection closed by peer (after "
       "1ms in state UP)",
       ""},
  };
  for (const auto& row : kRows) {
    ConnectionDiagnosis trouble;
    EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT, row.line));
    EXPECT_THAT(std::string(trouble.remedy()), HasSubstr(row.remedy));
    EXPECT_EQ(trouble.remedy().empty(), *row.remedy == '\0') << row.line;
    EXPECT_THAT(trouble.cause(), Not(HasSubstr("(after")));
  }
}

TEST(ConnectionDiagnosisTest, TwoTextsOfOneCauseAreNotToldInTurn) {
  ConnectionDiagnosis trouble;
  const auto code = RD_KAFKA_RESP_ERR__TRANSPORT;
  EXPECT_TRUE(trouble.Note(code,
                           "ssl://h:1/1: SSL connection closed by peer (after "
                           "1ms in state SSL_HANDSHAKE)"));
  EXPECT_FALSE(trouble.Note(code,
                            "ssl://h:1/1: SSL handshake failed: closed by peer "
                            "(after 1ms in state SSL_HANDSHAKE)"));
}

TEST(ConnectionDiagnosisTest, TheSameAgainIsNoNews) {
  ConnectionDiagnosis trouble;
  const auto code = RD_KAFKA_RESP_ERR__RESOLVE;
  EXPECT_TRUE(trouble.Note(code, "host:9092: unknown (after 2ms in state X)"));
  EXPECT_FALSE(trouble.Note(code, "host:9092: unknown (after 9ms in state X)"));
  trouble.OnUp({});
  EXPECT_TRUE(trouble.Note(code, "host:9092: unknown"));
}

TEST(ConnectionDiagnosisTest, ACauseCountsMoreThanABrokenConnection) {
  ConnectionDiagnosis trouble;
  EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT, "refused"));
  EXPECT_EQ(trouble.text(), "refused");
  EXPECT_FALSE(trouble.Note(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
                            "1/1 brokers are down"));
  EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__SSL, "certificate expired"));
  EXPECT_FALSE(trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT, "disconnected"));
  EXPECT_THAT(trouble.text(), HasSubstr("certificate expired; check sec"));
  EXPECT_EQ(trouble.advice(), trouble.text());
}

TEST(ConnectionDiagnosisTest, ABrokenConnectionIsToldInTheLog) {
  ConnectionDiagnosis trouble;
  EXPECT_FALSE(trouble.NoteLog("REQTMOUT", "[thrd:h:1/1]: h:1/1: timed out"));
  EXPECT_TRUE(trouble.NoteLog(
      "FAIL",
      "[thrd:h:1/bootstrap]: h:1/bootstrap: Connect to ipv4#127.0.0.1:1 "
      "failed: Connection refused (after 0ms in state CONNECT)"));
  EXPECT_EQ(trouble.text(),
            "h:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection "
            "refused");
  EXPECT_EQ(
      trouble.advice(),
      trouble.text() + "; correct kafka.brokers, or start the brokers there");
}

TEST(ConnectionDiagnosisTest, ThatAllAreDownIsSaidWhereNothingElseIsKnown) {
  ConnectionDiagnosis trouble;
  EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
                           "1/1 brokers are down"));
  EXPECT_EQ(trouble.text(), "1/1 brokers are down");
}

constexpr char kNotResolved[] =
    "kafka.invalid:9092/1: Failed to resolve 'kafka.invalid:9092': Name or "
    "service not known (after 3ms in state CONNECT)";

constexpr char kRefused[] =
    "kafka-1:9092/1: Connect to ipv4#10.0.0.1:9092 failed: Connection refused "
    "(after 1ms in state CONNECT)";

TEST(ConnectionDiagnosisTest, NamesTheAddressThatABrokerGives) {
  ConnectionDiagnosis trouble("127.0.0.1:9092");
  EXPECT_TRUE(trouble.Note(RD_KAFKA_RESP_ERR__RESOLVE, kNotResolved));
  EXPECT_FALSE(trouble.Note(RD_KAFKA_RESP_ERR__RESOLVE, kNotResolved));
  EXPECT_THAT(trouble.advice(),
              HasSubstr("broker 1 says that its address is kafka.invalid:9092, "
                        "which cannot be reached from here: Failed to resolve "
                        "'kafka.invalid:9092': Name or service not known; "
                        "correct advertised.listeners"));
  EXPECT_THAT(trouble.WhyUnreachable(1), HasSubstr("Failed to resolve"));
  EXPECT_EQ(trouble.WhyUnreachable(2), "");
}

TEST(ConnectionDiagnosisTest, ThatAllAreDownDoesNotHideTheAddress) {
  ConnectionDiagnosis trouble("127.0.0.1:9092");
  trouble.Note(RD_KAFKA_RESP_ERR__RESOLVE, kNotResolved);
  EXPECT_FALSE(trouble.Note(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
                            "2/2 brokers are down"));
  EXPECT_THAT(trouble.text(), HasSubstr("kafka.invalid"));
}

TEST(ConnectionDiagnosisTest, AnAddressIsWrongUntilItsBrokerIsUp) {
  ConnectionDiagnosis trouble("127.0.0.1:9092");
  trouble.Note(RD_KAFKA_RESP_ERR__RESOLVE, kNotResolved);
  trouble.OnUp({});
  trouble.OnUp({2, 3});
  EXPECT_THAT(trouble.text(), HasSubstr("kafka.invalid"));
  trouble.OnUp({1, 2, 3});
  EXPECT_EQ(trouble.text(), "");
}

TEST(ConnectionDiagnosisTest, ABrokerThatWasUpHasARightAddress) {
  ConnectionDiagnosis trouble("127.0.0.1:9092");
  trouble.OnUp({1});
  trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT, kRefused);
  EXPECT_EQ(trouble.WhyUnreachable(1), "");
  EXPECT_THAT(trouble.advice(), HasSubstr(ConnectionDiagnosis::kUsualAdvice));
}

TEST(ConnectionDiagnosisTest, AConnectionThatWasUpHasARightAddress) {
  ConnectionDiagnosis trouble("127.0.0.1:9092");
  trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT,
               "kafka-1:9092/1: Disconnected (after 5ms in state UP)");
  EXPECT_EQ(trouble.WhyUnreachable(1), "");
}

TEST(ConnectionDiagnosisTest, TheNextWrongAddressIsNamedOnceOneIsUp) {
  ConnectionDiagnosis trouble("127.0.0.1:9092");
  trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT, kRefused);
  trouble.Note(RD_KAFKA_RESP_ERR__TRANSPORT,
               "kafka-2:9092/2: Connect to ipv4#10.0.0.2:9092 failed: "
               "Connection refused (after 1ms in state CONNECT)");
  trouble.OnUp({1});
  EXPECT_THAT(trouble.text(), HasSubstr("broker 2 says that its address is "
                                        "kafka-2:9092"));
}

TEST(ConnectionDiagnosisTest, AnAddressOfKafkaBrokersIsNotTheirs) {
  ConnectionDiagnosis trouble("other:9092, ssl://kafka.invalid:9092");
  trouble.Note(RD_KAFKA_RESP_ERR__RESOLVE, kNotResolved);
  EXPECT_THAT(trouble.text(), HasSubstr("check the hosts of kafka.brokers"));
  EXPECT_EQ(trouble.WhyUnreachable(1), "");
}

}  // namespace
}  // namespace walpost
