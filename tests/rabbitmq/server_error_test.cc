#include "rabbitmq/server_error.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost::rabbitmq {
namespace {

const RabbitmqLogin kAlice = {.user = "alice", .vhost = "/shop"};

struct Case {
  const char* name;
  ServerError error;
  const char* remedy;
};

class ServerErrorTest : public ::testing::TestWithParam<Case> {};

TEST_P(ServerErrorTest, HasARemedy) {
  const std::string remedy = RemedyOf(GetParam().error, kAlice);
  EXPECT_NE(remedy.find(GetParam().remedy), std::string::npos) << remedy;
  const absl::Status status =
      StatusFromServer(GetParam().error, "publishing", kAlice);
  EXPECT_NE(std::string(status.message()).find(GetParam().error.text),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ServerErrorTest,
    ::testing::Values(
        Case{"login",
             {403,
              "ACCESS_REFUSED - Login was refused using authentication "
              "mechanism PLAIN. For details see the broker logfile."},
             "rabbitmq.password"},
        Case{"vhost",
             {530, "NOT_ALLOWED - vhost /shop not found"},
             "add_vhost '/shop'"},
        Case{"vhost_right",
             {530,
              "NOT_ALLOWED - access to vhost '/shop' refused for user "
              "'alice'"},
             "set_permissions -p '/shop' 'alice' '' '.*' ''"},
        Case{"write",
             {403,
              "ACCESS_REFUSED - write access to exchange 'orders' in "
              "vhost '/shop' refused for user 'alice'"},
             "set_permissions -p '/shop' 'alice'"},
        Case{"exchange",
             {404, "NOT_FOUND - no exchange 'orders' in vhost '/shop'"},
             "declare exchange name='orders'"},
        Case{"size",
             {406,
              "PRECONDITION_FAILED - message size 20 is larger than "
              "configured max size 10"},
             "max_message_size"}),
    [](const auto& each) { return each.param.name; });

TEST(ServerErrorsTest, KnowsTheSizeOfALargeMessage) {
  EXPECT_EQ(TooLargeMessageOf({406,
                               "PRECONDITION_FAILED - message size 20 is "
                               "larger than configured max size 10"}),
            20u);
  EXPECT_EQ(TooLargeMessageOf({406, "PRECONDITION_FAILED - fast reply"}), 0u);
  EXPECT_EQ(TooLargeMessageOf({404, "message size 20 is larger than"}), 0u);
}

TEST(ServerErrorsTest, TellsALoginFromARight) {
  EXPECT_TRUE(RejectsLogin({403, "ACCESS_REFUSED - Login was refused"}));
  EXPECT_FALSE(RejectsLogin(
      {403, "ACCESS_REFUSED - write access to exchange 'o' in vhost '/'"}));
  EXPECT_FALSE(RejectsLogin({530, "NOT_ALLOWED - access to vhost"}));
}

}  // namespace
}  // namespace walpost::rabbitmq
