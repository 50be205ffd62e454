#include "config/live_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/loader.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Config Parse(const std::string& text) {
  Environment environment;
  environment.file = [](const std::string& path) { return "in" + path; };
  environment.variable = [](const std::string&) { return "value"; };
  absl::StatusOr<Config> config =
      ParseConfig(text, "walpost.yaml", {}, environment);
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

TEST(LiveConfigTest, TakesUpLogLevelAndCredentials) {
  LiveConfig live(
      Parse("{postgres: {conninfo: 'host=db password=one'},"
            " kafka: {properties: {sasl.password: one, ssl.ca.location: /one,"
            " linger.ms: 1}}}"));
  const Config in_use = live.config();
  const LiveConfig::Changes changes = live.TakeUp(
      Parse("{postgres: {conninfo: 'password=two sslcert=/two host=db'},"
            " kafka: {properties: {sasl.password: '${file:/two}',"
            " ssl.ca.location: /two, linger.ms: 1}}, log: {level: debug}}"));
  EXPECT_THAT(changes.need_restart, IsEmpty());
  EXPECT_THAT(changes.taken_up,
              ElementsAre("log.level", "postgres.conninfo",
                          "kafka.properties.sasl.password",
                          "kafka.properties.ssl.ca.location"));
  EXPECT_EQ(live.config().log.level, LogLevel::kDebug);
  EXPECT_EQ(*in_use.postgres.server.conninfo.Read(),
            "password=two sslcert=/two host=db");
  EXPECT_EQ(*in_use.kafka.properties[0].second.Read(), "in/two");
  EXPECT_EQ(*in_use.kafka.properties[1].second.Read(), "/two");
}

TEST(LiveConfigTest, NamesWhatNeedsARestartEachTime) {
  LiveConfig live(
      Parse("{postgres: {conninfo: 'host=db password=one', slot: one},"
            " kafka: {properties: {linger.ms: 1, a: b}},"
            " outbox: {tables: [{name: a.b}]}}"));
  for (int i = 0; i < 2; ++i) {
    const LiveConfig::Changes changes = live.TakeUp(
        Parse("{postgres: {conninfo: 'host=other password=one', slot: two,"
              " password_command: [x]},"
              " kafka: {token_command: [x],"
              "  properties: {linger.ms: 2, sasl.password: new}},"
              " outbox: {tables: [{name: a.b}, {name: a.c}]}}"));
    EXPECT_THAT(changes.taken_up, IsEmpty());
    EXPECT_THAT(
        changes.need_restart,
        ElementsAre("postgres.conninfo", "postgres.password_command",
                    "kafka.token_command", "kafka.properties.linger.ms",
                    "kafka.properties.sasl.password", "kafka.properties.a",
                    "outbox.tables[1].name", "postgres.slot"));
  }
  EXPECT_EQ(*live.config().postgres.server.conninfo.Read(),
            "host=db password=one");
}

TEST(LiveConfigTest, WhatWasTakenUpIsNoChangeTheNextTime) {
  LiveConfig live(Parse("{postgres: {conninfo: 'password=one'}}"));
  const Config fresh = Parse("{postgres: {conninfo: 'password=${file:/a}'}}");
  EXPECT_THAT(live.TakeUp(fresh).taken_up, ElementsAre("postgres.conninfo"));
  const LiveConfig::Changes again = live.TakeUp(fresh);
  EXPECT_THAT(again.taken_up, IsEmpty());
  EXPECT_THAT(again.need_restart, IsEmpty());
}

TEST(LiveConfigTest, NewContentsOfAReferenceAreTold) {
  std::string secret = "one";
  Environment environment;
  environment.file = [&secret](const std::string&) { return secret; };
  const auto load = [&environment] {
    return *ParseConfig(
        "{postgres: {conninfo: 'password=${file:/a}'},"
        " kafka: {properties: {sasl.password: '${file:/b}'}}}",
        "walpost.yaml", {}, environment);
  };
  LiveConfig live(load());
  EXPECT_THAT(live.TakeUp(load()).taken_up, IsEmpty());
  secret = "two";
  for (const bool is_first : {true, false}) {
    const LiveConfig::Changes changes = live.TakeUp(load());
    EXPECT_THAT(changes.need_restart, IsEmpty());
    if (is_first) {
      EXPECT_THAT(changes.taken_up,
                  ElementsAre("postgres.conninfo (new contents)",
                              "kafka.properties.sasl.password (new contents)"));
    } else {
      EXPECT_THAT(changes.taken_up, IsEmpty());
    }
  }
}

TEST(LiveConfigTest, ReferencesAreComparedByTheirNames) {
  LiveConfig live(Parse("{postgres: {conninfo: 'host=${env:A} password=1'}}"));
  EXPECT_THAT(
      live.TakeUp(Parse("{postgres: {conninfo: 'host=${env:A} password=2'}}"))
          .taken_up,
      ElementsAre("postgres.conninfo"));
  EXPECT_THAT(
      live.TakeUp(Parse("{postgres: {conninfo: 'host=${file:/b} password=2'}}"))
          .need_restart,
      ElementsAre("postgres.conninfo"));
}

}  // namespace
}  // namespace walpost
