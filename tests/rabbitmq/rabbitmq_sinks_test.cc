#include "rabbitmq/rabbitmq_sinks.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace walpost {
namespace {

struct Case {
  const char* name;
  std::function<void(RabbitmqOptions&)> change;
  const char* error;  // "": none
};

class RabbitmqOptionsTest : public ::testing::TestWithParam<Case> {};

TEST_P(RabbitmqOptionsTest, AreChecked) {
  RabbitmqOptions options;
  options.nodes = "127.0.0.1";
  GetParam().change(options);
  const absl::Status status = CheckRabbitmqOptions(options);
  if (std::string(GetParam().error).empty()) {
    EXPECT_TRUE(status.ok()) << status;
  } else {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(std::string(status.message()).find(GetParam().error),
              std::string::npos)
        << status;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, RabbitmqOptionsTest,
    ::testing::Values(
        Case{"usual", [](auto&) {}, ""},
        Case{"no_node", [](auto& o) { o.nodes = ""; }, "rabbitmq.nodes"},
        Case{"exchange", [](auto& o) { o.exchange = "{table}"; },
             "rabbitmq.exchange"},
        Case{"routing_key", [](auto& o) { o.routing_key = "{"; },
             "rabbitmq.routing_key"},
        Case{"vhost", [](auto& o) { o.vhost = ""; }, "rabbitmq.vhost"},
        Case{"heartbeat",
             [](auto& o) { o.heartbeat = std::chrono::seconds(0); },
             "rabbitmq.heartbeat"},
        Case{"nobody", [](auto& o) { o.user = ""; }, "rabbitmq.user"},
        Case{"unknown_exchange",
             [](auto& o) {
               o.exchange = "{topic.1}";
               o.create.queue = "q";
             },
             "rabbitmq.create"},
        Case{"default_exchange",
             [](auto& o) { o.create.exchange_type = "topic"; },
             "rabbitmq.create.exchange_type"},
        Case{"misspelt_type",
             [](auto& o) {
               o.exchange = "shop";
               o.create.exchange_type = "topci";
             },
             "rabbitmq.create.exchange_type: 'topci' is not"},
        Case{"type_of_a_plugin",
             [](auto& o) {
               o.exchange = "shop";
               o.create.exchange_type = "x-consistent-hash";
             },
             ""},
        Case{"large", [](auto& o) { o.max_message_bytes = size_t{1} << 30; },
             "rabbitmq.max_message_bytes"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace walpost
