#include "log/log_format.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace walpost {
namespace {

const LogStamp kStamp = {std::chrono::system_clock::time_point(
                             std::chrono::milliseconds(1'700'000'000'042)),
                         LogLevel::kWarn};

TEST(LogFormatTest, TextHasTimeLevelAndText) {
  EXPECT_EQ(FormatAsText(kStamp, "topic orders is isolated"),
            "2023-11-14T22:13:20.042Z warn topic orders is isolated\n");
}

TEST(LogFormatTest, JsonHasTheTemplateTheSlotAndTheFields) {
  const LogLine line = {"topic orders is isolated",
                        "topic {} is isolated",
                        {{"topic", "orders"}, {"event_id", ""}}};
  EXPECT_EQ(FormatAsJson(kStamp, line, "walpost"),
            R"({"time":"2023-11-14T22:13:20.042Z","level":"warn",)"
            R"("message":"topic orders is isolated",)"
            R"("template":"topic {} is isolated","slot":"walpost",)"
            R"("topic":"orders"})"
            "\n");
}

TEST(LogFormatTest, WhatWouldBreakTheLineIsEscaped) {
  const std::string line =
      FormatAsJson(kStamp, {"a \"b\"\nc\\ \xff \u00e4", ""}, "");
  EXPECT_NE(line.find(R"("a \"b\"\nc\\ ? )"
                      "\u00e4\"}"),
            std::string::npos)
      << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(LogFormatTest, LevelsAreNamedAsInTheConfiguration) {
  for (const auto& [name, level] : kLogLevels) {
    const std::string line = FormatAsJson({kStamp.time, level}, {"x", ""}, "");
    EXPECT_NE(line.find("\"level\":\"" + std::string(name) + "\""),
              std::string::npos)
        << line;
  }
}

}  // namespace
}  // namespace walpost
