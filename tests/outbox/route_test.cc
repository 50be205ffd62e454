#include "outbox/route.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace walpost {
namespace {

using Names = std::vector<std::string>;

TEST(RouteTest, TemplateReferencesComeFirstThenThoseOfHeaders) {
  RouteOptions options;
  options.topic = "{aggregate_type}.{region}";
  options.headers = {{"eventType", "type"}, {"where", "region"}};
  const auto route = Route::Create(options, "");
  ASSERT_TRUE(route.ok());
  EXPECT_EQ(route->references(), (Names{"aggregate_type", "region", "type"}));
  ASSERT_EQ(route->headers().size(), 2u);
  EXPECT_EQ(route->headers()[0].name, "eventType");
  EXPECT_EQ(route->headers()[0].reference, 2u);
  EXPECT_EQ(route->headers()[1].name, "where");
  EXPECT_EQ(route->headers()[1].reference, 1u) << "asked for once only";
}

TEST(RouteTest, ASourceOverridesTheTopic) {
  RouteOptions options;
  options.topic = "all";
  EXPECT_EQ(Route::Create(options, "mine")->topic().text(), "mine");
  EXPECT_EQ(Route::Create(options, "")->topic().text(), "all");
}

TEST(RouteTest, ASourceOverridesThePartitionAlsoByNone) {
  RouteOptions options;
  options.topic = "{region}";
  options.partition = "shard";
  const auto route = Route::Create(options, "");
  EXPECT_EQ(route->references(), (Names{"region", "shard"}));
  EXPECT_EQ(route->partition(), 1u);
  const auto own = Route::Create(options, "", std::nullopt, "region");
  EXPECT_EQ(own->references(), Names{"region"});
  EXPECT_EQ(own->partition(), 0u);
  EXPECT_EQ(Route::Create(options, "", std::nullopt, "")->partition(),
            std::nullopt);
  EXPECT_EQ(Route::Create(RouteOptions(), "")->partition(), std::nullopt);
}

TEST(RouteTest, PositionHeaderIsOnUnlessSwitchedOff) {
  RouteOptions options;
  EXPECT_TRUE(Route::Create(options, "")->has_position_header());
  options.position_header = false;
  EXPECT_FALSE(Route::Create(options, "")->has_position_header());
}

TEST(RouteTest, ThereIsOneForEachTableAndThenTheMessages) {
  OutboxOptions options;
  options.tables.resize(2);
  options.tables[1].topic = "second";
  options.messages.topic = "messages";
  options.route.topic = "common";
  const auto routes = Route::CreateAll(options);
  ASSERT_TRUE(routes.ok());
  ASSERT_EQ(routes->size(), 3u);
  EXPECT_EQ((*routes)[0].topic().text(), "common");
  EXPECT_EQ((*routes)[1].topic().text(), "second");
  EXPECT_EQ((*routes)[2].topic().text(), "messages");
}

TEST(RouteTest, ATemplateThatDoesNotParseIsRefused) {
  OutboxOptions options;
  options.tables.resize(1);
  options.tables[0].topic = "{broken";
  EXPECT_TRUE(absl::IsInvalidArgument(Route::CreateAll(options).status()));
  options.tables[0].topic = "";
  options.messages.topic = "{broken";
  EXPECT_TRUE(absl::IsInvalidArgument(Route::CreateAll(options).status()));
}

}  // namespace
}  // namespace walpost
