#include "rabbitmq/handshake.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "fmt/format.h"
#include "rabbitmq/setup_calls.h"
#include "rabbitmq/wire.h"

namespace walpost::rabbitmq {
namespace {

class HandshakeTest : public ::testing::Test {
 protected:
  static Handshake::Options Settings(std::vector<AmqpCall> calls = {}) {
    return {.login = {.user = "alice", .vhost = "/shop"},
            .password = "secret",
            .connection_name = "walpost-shop",
            .heartbeat_seconds = 4,
            .calls = std::move(calls)};
  }
  // The server sends; the answer's methods, or the error.
  static std::string Send(Handshake& handshake, const std::string& bytes) {
    std::string out;
    absl::Status status;
    ForEachFrame(bytes, [&](const AmqpFrame& frame) {
      status = handshake.OnFrame(frame, out);
    });
    error_ = status;
    return MethodsIn(out);
  }
  // Up to the channel.
  static void Open(Handshake& handshake) {
    Send(handshake, StartFrame("PLAIN AMQPLAIN"));
    Send(handshake, TuneFrame(131072));
    Send(handshake, MethodFrame(AMQP_CONNECTION_OPEN_OK_METHOD,
                                amqp_connection_open_ok_t{}, 0));
  }
  static std::string ChannelOpenOk() {
    return MethodFrame(AMQP_CHANNEL_OPEN_OK_METHOD, amqp_channel_open_ok_t{});
  }
  static std::string DeclareOk() {
    return MethodFrame(AMQP_EXCHANGE_DECLARE_OK_METHOD,
                       amqp_exchange_declare_ok_t{});
  }

  static absl::Status error_;
};
absl::Status HandshakeTest::error_;

TEST_F(HandshakeTest, LogsInAndOpensAChannel) {
  Handshake handshake(Settings());
  EXPECT_EQ(handshake.Begin().substr(0, 4), "AMQP");
  EXPECT_EQ(Send(handshake, StartFrame("AMQPLAIN PLAIN")), "a000b ");
  EXPECT_EQ(Send(handshake, TuneFrame(0)), "a001f a0028 ");
  EXPECT_EQ(Send(handshake, MethodFrame(AMQP_CONNECTION_OPEN_OK_METHOD,
                                        amqp_connection_open_ok_t{}, 0)),
            "14000a ");
  EXPECT_FALSE(handshake.is_ready());
  EXPECT_EQ(Send(handshake, ChannelOpenOk()), "");
  EXPECT_TRUE(handshake.is_ready());
  EXPECT_EQ(handshake.facts().cluster_name, "rabbit@one");
  EXPECT_EQ(ClusterIdOf(handshake.facts()), "unnamed:rabbitmq");
  ServerFacts facts;
  facts.cluster_name = "shop";
  EXPECT_EQ(ClusterIdOf(facts), "rabbitmq:shop");
  facts.cluster_name = "my 100% shop";
  EXPECT_EQ(ClusterIdOf(facts), "rabbitmq:my%20100%25%20shop");
  EXPECT_EQ(handshake.facts().max_frame, 131072u);
}

TEST_F(HandshakeTest, MakesItsCallsInTurn) {
  RabbitmqOptions options;
  options.exchange = "orders";
  Handshake handshake(Settings(*MakeSetupCalls(options)));
  Open(handshake);
  EXPECT_EQ(Send(handshake, ChannelOpenOk()), "28000a ");  // exchange.declare
  EXPECT_EQ(Send(handshake, DeclareOk()), "55000a ");      // confirm.select
  EXPECT_FALSE(handshake.is_ready());
  Send(handshake,
       MethodFrame(AMQP_CONFIRM_SELECT_OK_METHOD, amqp_confirm_select_ok_t{}));
  EXPECT_TRUE(handshake.is_ready());
}

TEST_F(HandshakeTest, AMissingExchangeEndsItWithTheRemedy) {
  RabbitmqOptions options;
  options.exchange = "orders";
  Handshake handshake(Settings(*MakeSetupCalls(options)));
  Open(handshake);
  Send(handshake, ChannelOpenOk());
  Send(handshake,
       CloseFrame(404, "NOT_FOUND - no exchange 'orders' in vhost '/shop'"));
  EXPECT_NE(
      std::string(error_.message()).find("declare exchange name='orders'"),
      std::string::npos)
      << error_;
  EXPECT_EQ(handshake.closed()->code, 404);
}

TEST_F(HandshakeTest, WhatMayFailIsFollowedByItsFallbackOnAnotherChannel) {
  RabbitmqOptions options;
  options.exchange = "orders";
  options.create.exchange_type = "topic";
  Handshake handshake(Settings(*MakeSetupCalls(options)));
  Open(handshake);
  Send(handshake, ChannelOpenOk());
  // channel.close-ok, channel.open
  EXPECT_EQ(Send(handshake, CloseFrame(404, "NOT_FOUND - no exchange")),
            "140029 14000a ");
  EXPECT_EQ(Send(handshake, ChannelOpenOk()), "28000a ");
  EXPECT_EQ(Send(handshake, DeclareOk()), "55000a ");
  EXPECT_EQ(handshake.answers()[0].error->code, 404);
}

TEST_F(HandshakeTest, AFallbackIsLeftOutWhereNothingFailed) {
  RabbitmqOptions options;
  options.exchange = "orders";
  options.create.exchange_type = "topic";
  Handshake handshake(Settings(*MakeSetupCalls(options)));
  Open(handshake);
  Send(handshake, ChannelOpenOk());
  EXPECT_EQ(Send(handshake, DeclareOk()), "55000a ");
  EXPECT_FALSE(handshake.answers()[1].was_made);
}

TEST_F(HandshakeTest, ARejectedLoginIsNamed) {
  Handshake handshake(Settings());
  Send(handshake, StartFrame("PLAIN"));
  Send(handshake,
       CloseFrame(403,
                  "ACCESS_REFUSED - Login was refused using authentication "
                  "mechanism PLAIN.",
                  /*of_channel=*/false));
  EXPECT_TRUE(RejectsLogin(*handshake.closed()));
  EXPECT_NE(std::string(error_.message()).find("logging in as alice"),
            std::string::npos)
      << error_;
}

TEST_F(HandshakeTest, AServerWithoutConfirmsIsRefused) {
  Handshake handshake(Settings());
  Send(handshake, StartFrame("PLAIN", /*has_confirms=*/false));
  EXPECT_TRUE(absl::IsFailedPrecondition(error_)) << error_;
}

TEST_F(HandshakeTest, AnotherMechanismIsRefused) {
  Handshake handshake(Settings());
  Send(handshake, StartFrame("EXTERNAL PLAINER"));
  EXPECT_TRUE(absl::IsFailedPrecondition(error_)) << error_;
  Handshake::Options options = Settings();
  options.is_external = true;
  Handshake external(std::move(options));
  EXPECT_EQ(Send(external, StartFrame("EXTERNAL")), "a000b ");
}

TEST_F(HandshakeTest, AnAnswerOutOfTurnIsAnError) {
  Handshake handshake(Settings());
  Send(handshake, TuneFrame(4096));
  EXPECT_TRUE(absl::IsDataLoss(error_)) << error_;
}

TEST_F(HandshakeTest, AnAlarmFromBeforeDoesNotDisturbIt) {
  Handshake handshake(Settings());
  Open(handshake);
  amqp_connection_blocked_t blocked{};
  blocked.reason = AmqpBytes("low on disk");
  Send(handshake, MethodFrame(AMQP_CONNECTION_BLOCKED_METHOD, blocked, 0));
  EXPECT_TRUE(error_.ok()) << error_;
  Send(handshake, ChannelOpenOk());
  EXPECT_TRUE(handshake.is_ready());
}

}  // namespace
}  // namespace walpost::rabbitmq
