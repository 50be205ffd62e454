// RecentWarning: a line of the log that says what is wrong, and what to do.
#pragma once

#include <string>

#include "base/time.h"
#include "log/log_options.h"

namespace walpost {

struct RecentWarning {
  WallTime time;
  LogLevel level = LogLevel::kWarn;
  std::string text;
};

}  // namespace walpost
