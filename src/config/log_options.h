// Log level and format: keys `log.*` of docs/configuration.md.
#pragma once

namespace walpost {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

}  // namespace walpost
