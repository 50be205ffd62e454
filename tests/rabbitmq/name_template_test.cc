#include "rabbitmq/name_template.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost::rabbitmq {
namespace {

std::string Expanded(std::string_view text) {
  const absl::StatusOr<NameTemplate> name = NameTemplate::Parse(text);
  if (!name.ok()) return std::string(name.status().message());
  Record record;
  record.topic = "orders.eu.created";
  record.key = "k1";
  record.type = "OrderCreated";
  return name->Expand(record);
}

TEST(NameTemplateTest, TakesTheTopicOrItsWords) {
  EXPECT_EQ(Expanded("{topic}"), "orders.eu.created");
  EXPECT_EQ(Expanded("events.{topic.1}"), "events.orders");
  EXPECT_EQ(Expanded("{topic.2-}!"), "eu.created!");
  EXPECT_EQ(Expanded("{topic.3}{topic.4}{topic.4-}"), "created");
  EXPECT_EQ(Expanded("{key}/{type}"), "k1/OrderCreated");
  EXPECT_EQ(Expanded("orders"), "orders");
  EXPECT_EQ(Expanded(""), "");
}

TEST(NameTemplateTest, WhatARecordLacksIsEmpty) {
  Record record;
  record.topic = "orders";
  EXPECT_EQ(NameTemplate::Parse("{topic.2}-{key}-{type}")->Expand(record),
            "--");
}

TEST(NameTemplateTest, RejectsWhatItDoesNotKnow) {
  for (const char* text : {"{table}", "{topic.0}", "{topic.x}", "{topic.1",
                           "topic}", "{}", "{topic.100}", "{topic.-}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(NameTemplate::Parse(text).status()))
        << text;
  }
}

TEST(NameTemplateTest, KnowsWhetherItIsOneName) {
  EXPECT_TRUE(NameTemplate::Parse("orders")->is_fixed());
  EXPECT_TRUE(NameTemplate::Parse("")->is_fixed());
  EXPECT_FALSE(NameTemplate::Parse("a{topic.1}b")->is_fixed());
}

}  // namespace
}  // namespace walpost::rabbitmq
