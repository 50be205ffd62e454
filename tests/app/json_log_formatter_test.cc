#include "app/process/json_log_formatter.h"

#include <gtest/gtest.h>

#include <string>

#include "spdlog/details/log_msg.h"

namespace walpost {
namespace {

std::string Format(const std::string& text, spdlog::level::level_enum level) {
  const auto time = spdlog::log_clock::time_point(
      std::chrono::milliseconds(1'700'000'000'042));
  spdlog::memory_buf_t line;
  JsonLogFormatter().format({time, {}, {}, level, text}, line);
  return std::string(line.data(), line.size());
}

TEST(JsonLogFormatterTest, OneObjectPerLine) {
  EXPECT_EQ(Format("streaming", spdlog::level::info),
            R"({"time":"2023-11-14T22:13:20.042Z","level":"info",)"
            R"("message":"streaming"})"
            "\n");
}

TEST(JsonLogFormatterTest, WhatWouldBreakTheLineIsEscaped) {
  const std::string line =
      Format("a \"b\"\nc\\ \xff \u00e4", spdlog::level::warn);
  EXPECT_NE(line.find(R"("a \"b\"\nc\\ ? )"
                      "\u00e4\"}"),
            std::string::npos)
      << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

}  // namespace
}  // namespace walpost
