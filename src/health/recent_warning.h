// RecentWarning: a line of the log that says what is wrong, and what to do.
#pragma once

#include <string>

#include "base/time.h"

namespace walpost {

struct RecentWarning {
  WallTime time;
  std::string level;  // "warning" or "error"
  std::string text;
};

}  // namespace walpost
