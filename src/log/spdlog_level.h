// The levels of the configuration and those of spdlog.
#pragma once

#include "log/log_options.h"
#include "spdlog/common.h"

namespace walpost {

constexpr spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

constexpr LogLevel FromSpdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::kDebug;
  if (level == spdlog::level::info) return LogLevel::kInfo;
  return level == spdlog::level::warn ? LogLevel::kWarn : LogLevel::kError;
}

}  // namespace walpost
