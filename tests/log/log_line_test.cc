#include "log/log_line.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

TEST(LogLineTest, WhatIsEncodedIsDecoded) {
  const std::string queued =
      Encode("topic a is isolated", "topic {} is isolated",
             {{"topic", "a"}, {"key", ""}, {"event_id", "7"}});
  const LogLine line = Decode(queued);
  EXPECT_EQ(line.text, "topic a is isolated");
  EXPECT_EQ(line.text_template, "topic {} is isolated");
  ASSERT_EQ(line.fields.size(), 2u);
  EXPECT_EQ(line.fields[0].name, "topic");
  EXPECT_EQ(line.fields[0].value, "a");
  EXPECT_EQ(line.fields[1].name, "event_id");
  EXPECT_EQ(line.fields[1].value, "7");
}

TEST(LogLineTest, ALineOfAnotherLoggerIsItsText) {
  const LogLine line = Decode("3 log lines were dropped");
  EXPECT_EQ(line.text, "3 log lines were dropped");
  EXPECT_EQ(line.text_template, "");
  EXPECT_TRUE(line.fields.empty());
}

TEST(LogLineTest, SeparatorsInDataMakeNoFields) {
  const std::string evil =
      "x\x1etopic\x1f"
      "forged";
  const std::string queued = Encode(evil, "{}", {{"event_id", evil}});
  const LogLine line = Decode(queued);
  EXPECT_EQ(line.text, "x?topic?forged");
  ASSERT_EQ(line.fields.size(), 1u);
  EXPECT_EQ(line.fields[0].value, "x?topic?forged");
}

}  // namespace
}  // namespace walpost
