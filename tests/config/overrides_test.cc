#include "config/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Overlaid {
  absl::Status status;
  std::string yaml;
  std::set<std::string> keys;
};

Overlaid Apply(const std::string& text,
               const std::vector<std::string>& overrides) {
  Overlaid result;
  YAML::Node root = YAML::Load(text);
  result.status = ApplyOverrides(overrides, root, result.keys);
  YAML::Emitter out;
  out << YAML::Flow << root;
  result.yaml = out.c_str();
  return result;
}

struct Row {
  const char* text;
  std::vector<std::string> overrides;
  const char* yaml;
};

TEST(OverridesTest, LieOverTheFile) {
  const Row rows[] = {
      {"{a: {b: 1}}", {}, "{a: {b: 1}}"},
      {"{a: {b: 1}}", {"a.b=2"}, "{a: {b: 2}}"},
      {"{a: {b: 1}}", {"a.c=2"}, "{a: {b: 1, c: 2}}"},
      {"{a: {b: 1}}", {"c.d.e=2"}, "{a: {b: 1}, c: {d: {e: 2}}}"},
      {"{a: {b: 1}}", {"a=2"}, "{a: 2}"},
      {"{a: 1}", {"a=2", "a=3"}, "{a: 3}"},
      {"{a: ~}", {"a.b=2"}, "{a: {b: 2}}"},
      {"", {"a.b=2"}, "{a: {b: 2}}"},
      {"{a: 1}", {"b=x=y"}, "{a: 1, b: x=y}"},
      {"{a: 1}", {"a="}, "{a: ~}"},
      {"{}", {"a=[x, y]"}, "{a: [x, y]}"},
      {"{}", {"a={x: y}", "a.z=1"}, "{a: {x: y, z: 1}}"},
      {"{a: [x, y]}", {"a=[z]"}, "{a: [z]}"},
  };
  for (const Row& row : rows) {
    const Overlaid result = Apply(row.text, row.overrides);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.yaml, row.yaml);
  }
}

TEST(OverridesTest, NamesInOpenMappingsKeepTheirDots) {
  const Row rows[] = {
      {"{}",
       {"kafka.properties.linger.ms=5"},
       "{kafka: {properties: {linger.ms: 5}}}"},
      {"{kafka: {properties: {linger.ms: 1}}}",
       {"kafka.properties.linger.ms=5"},
       "{kafka: {properties: {linger.ms: 5}}}"},
      {"{}",
       {"route.headers.ce.type=type"},
       "{route: {headers: {ce.type: type}}}"},
      {"{}", {"kafka.brokers=b:1"}, "{kafka: {brokers: b:1}}"},
      {"{}", {"route.headers={a.b: c}"}, "{route: {headers: {a.b: c}}}"},
  };
  for (const Row& row : rows) {
    const Overlaid result = Apply(row.text, row.overrides);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.yaml, row.yaml);
  }
}

TEST(OverridesTest, AreNotedByKey) {
  EXPECT_THAT(Apply("{}", {"a.b=1", "kafka.properties.linger.ms=5"}).keys,
              ElementsAre("a.b", "kafka.properties.linger.ms"));
}

TEST(OverridesTest, RefusesWhatIsNoKeyAndValue) {
  for (const std::string override : {"", "a", "=", "=1", "a.b"}) {
    const Overlaid result = Apply("{a: 1}", {override});
    EXPECT_TRUE(absl::IsInvalidArgument(result.status)) << override;
    EXPECT_THAT(std::string(result.status.message()),
                HasSubstr("--set " + override + ": write it as key=value"));
  }
}

TEST(OverridesTest, RefusesAKeyBelowSomethingThatIsNoMapping) {
  const std::pair<const char*, const char*> rows[] = {
      {"{a: 1}", "a.b=1"}, {"{a: [x]}", "a.0=1"}, {"{a: [{b: 1}]}", "a.0.b=1"},
      {"[x]", "a=1"},      {"word", "a=1"},
  };
  for (const auto& [text, override] : rows) {
    const absl::Status status = Apply(text, {override}).status;
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << override;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("lies in something that is not a mapping"));
  }
}

TEST(OverridesTest, SomeMayHoldSecrets) {
  for (const std::string override : {
           "postgres.conninfo=host=a password=x",
           "postgres.conninfo=postgresql://u:x@a/shop",
           "postgres.conninfo='host=a password=x'",
           "postgres={conninfo: password=x}",
           "postgres.password_command=[show, x]",
           "kafka.token_command=[show, x]",
           "kafka={properties: {sasl.password: x}}",
           "kafka.properties={sasl.password: x}",
           "kafka.properties.sasl.password=x",
           "kafka.properties.ssl.key.pem=x",
       }) {
    EXPECT_TRUE(MayHoldSecret(override)) << override;
  }
  for (const std::string override : {
           "postgres.conninfo=host=a dbname=shop",
           "postgres.slot=orders",
           "kafka.brokers=a:9092",
           "kafka.properties.linger.ms=5",
           "http.listen=127.0.0.1:9187",
       }) {
    EXPECT_FALSE(MayHoldSecret(override)) << override;
  }
}

}  // namespace
}  // namespace walpost
