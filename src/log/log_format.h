// How a log line is written (log.format).
//
//   text  2026-11-22T10:00:00.000Z warn topic orders is isolated: …
//   json  {"time":"2026-11-22T10:00:00.000Z","level":"warn","message":"…",
//          "template":"topic {} is isolated: …","slot":"walpost",
//          "topic":"orders"}
//
// Levels are named as in log.level.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "log/log_line.h"

namespace walpost {

struct LogStamp {
  std::chrono::system_clock::time_point time;
  LogLevel level = LogLevel::kInfo;
};

std::string FormatAsText(const LogStamp& stamp, std::string_view text);

// Bytes that are not UTF-8 become '?'. `slot`: empty for none.
std::string FormatAsJson(const LogStamp& stamp, const LogLine& line,
                         std::string_view slot);

}  // namespace walpost
