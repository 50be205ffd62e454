#include "delivery/topic_text.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

std::string Read(std::string_view text) {
  std::string read;
  while (!text.empty()) {
    const auto [name, value] = TakeTopic(text);
    read += "[" + name + ":" + std::string(value) + "]";
  }
  return read;
}

TEST(TopicTextTest, AnyNameComesBack) {
  std::string text;
  AppendTopic("orders", "1", text);
  AppendTopic("a,b=c%", "t=2", text);
  AppendTopic("%2C", "3", text);
  EXPECT_EQ(text, "orders=1,a%2Cb%3Dc%25=t=2,%252C=3");
  EXPECT_EQ(Read(text), "[orders:1][a,b=c%:t=2][%2C:3]");
}

TEST(TopicTextTest, WhatDoesNotParseHasNoNameOrNoValue) {
  EXPECT_EQ(Read("a=1,,b,=2,c="), "[a:1][:][:][:2][c:]");
  EXPECT_EQ(Read(""), "");
}

}  // namespace
}  // namespace walpost
