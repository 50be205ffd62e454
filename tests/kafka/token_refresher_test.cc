#include "kafka/client/token_refresher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/new_client.h"
#include "loop/blocking_call.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kGood[] = R"(echo '{"token": "t0ken", "expires_in": 600}')";

// A client without brokers, after the first run of a script of the shell.
KafkaClient ClientOf(const std::string& script) {
  KafkaConf conf(rd_kafka_conf_new());
  rd_kafka_conf_set(conf.get(), "security.protocol", "sasl_plaintext", nullptr,
                    0);
  rd_kafka_conf_set(conf.get(), "log.queue", "true", nullptr, 0);
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  const auto client =
      NewKafkaClient(RD_KAFKA_PRODUCER, std::move(conf), {"sh", "-c", script});
  EXPECT_TRUE(client.ok()) << client.status();
  return KafkaClient(client.value_or(nullptr));
}

void WaitFor(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + seconds(10);
  while (!condition() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(condition());
}

TEST(TokenRefresherTest, TakesTheTokenThatTheProgramPrints) {
  const KafkaClient client = ClientOf(kGood);
  AwaitToken(client.get());
  EXPECT_EQ(TokenRefresher::Of(client.get())->status(), absl::OkStatus());
  EXPECT_EQ(TokenRefresher::Of(client.get())->WhyNoToken(), "");
}

TEST(TokenRefresherTest, AFailureIsAnErrorOfTheClientThatNamesTheProgram) {
  const KafkaClient client =
      ClientOf("echo t0ken; echo no credentials >&2; exit 3");
  AwaitToken(client.get());
  ConnectionDiagnosis trouble;
  WaitFor([&] {
    NoteEvents(client.get(), trouble);
    return trouble.is_of_credentials();
  });
  EXPECT_EQ(trouble.cause(),
            "kafka.token_command: sh exited with code 3: no credentials");
  EXPECT_EQ(TokenRefresher::Of(client.get())->WhyNoToken(), trouble.cause());
  EXPECT_THAT(std::string(trouble.remedy()), StartsWith("run the program"));
}

TEST(TokenRefresherTest, WhatIsNotATokenIsNotShown) {
  const KafkaClient client = ClientOf("echo 't0ken \xc3\xa4'");
  AwaitToken(client.get());
  const std::string said(TokenRefresher::Of(client.get())->status().message());
  EXPECT_THAT(said, HasSubstr("sh printed something that is not a token"));
  EXPECT_THAT(said, Not(HasSubstr("t0ken")));
}

// The brokers reject the token: the cause is the last failure of the program,
// if there is one.
TEST(TokenRefresherTest, ExplainsARejection) {
  const std::string rejection =
      R"(h:1/1: SASL OAUTHBEARER authentication failed (principal=): )"
      R"({"status":"invalid_token"})";
  const KafkaClient good = ClientOf(kGood);
  AwaitToken(good.get());
  EXPECT_EQ(ExplainTokenError(good.get(), rejection),
            "Kafka rejects the token of kafka.token_command: " + rejection);
  EXPECT_EQ(ExplainTokenError(good.get(), "h:1/1: Connection refused"),
            "h:1/1: Connection refused");
  const KafkaClient bad = ClientOf("exit 3");
  AwaitToken(bad.get());
  EXPECT_EQ(ExplainTokenError(bad.get(), rejection),
            "kafka.token_command: sh exited with code 3");
}

TEST(TokenRefresherTest, IsNotRunAgainAtOnce) {
  const std::filesystem::path runs =
      std::filesystem::path(testing::TempDir()) / "token-runs";
  std::filesystem::remove(runs);
  const KafkaClient client = ClientOf("echo x >> " + runs.string());
  AwaitToken(client.get());
  for (int i = 0; i < 50; ++i) TokenRefresher::Of(client.get())->Renew();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(std::filesystem::file_size(runs), 2u);
}

TEST(TokenRefresherTest, DestroyingTheClientKillsTheProgram) {
  const std::filesystem::path pid =
      std::filesystem::path(testing::TempDir()) / "token-pid";
  std::filesystem::remove(pid);
  KafkaClient client = ClientOf("echo $$ > " + pid.string() + "; sleep 60");
  std::string number;
  WaitFor([&] { return bool(std::ifstream(pid) >> number); });
  client.reset();
  const auto begun = std::chrono::steady_clock::now();
  AwaitBlockedThreads(seconds(8));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(5));
  EXPECT_FALSE(std::filesystem::exists("/proc/" + number));
}

TEST(TokenRefresherTest, AClientWithoutACommandHasNone) {
  KafkaConf conf(rd_kafka_conf_new());
  const auto made = NewKafkaClient(RD_KAFKA_PRODUCER, std::move(conf), {});
  ASSERT_TRUE(made.ok()) << made.status();
  const KafkaClient client(*made);
  EXPECT_EQ(TokenRefresher::Of(client.get()), nullptr);
  AwaitToken(client.get());
  EXPECT_EQ(ExplainTokenError(client.get(), "invalid_token"), "invalid_token");
}

}  // namespace
}  // namespace walpost
