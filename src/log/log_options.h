// Log level and format: keys `log.*` of docs/configuration.md.
#pragma once

#include "base/choices.h"

namespace walpost {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

inline constexpr Choices<LogLevel, 4> kLogLevels = {{
    {"debug", LogLevel::kDebug},
    {"info", LogLevel::kInfo},
    {"warn", LogLevel::kWarn},
    {"error", LogLevel::kError},
}};
inline constexpr Choices<LogFormat, 2> kLogFormats = {{
    {"text", LogFormat::kText},
    {"json", LogFormat::kJson},
}};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  // JSON lines name the key (aggregate_id) of the event that they are about.
  bool keys = false;
};

}  // namespace walpost
