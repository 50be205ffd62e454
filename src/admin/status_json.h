// The /status page: a RelayStatus as one JSON object, for people with curl,
// programs with jq, and the status page.
//
// LSNs are text as in Postgres, durations are seconds, times are UTC. Unknown
// values are null. Only members about polling and pruning may be absent. Counts
// by name are objects; all other figures are members of the one object.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "health/relay_status.h"
#include "log/recent_warning.h"

namespace walpost {

// Facts that are shown besides the status.
struct StatusContext {
  std::string_view version;
  WallTime now;
  // Since the relay began, with all its counts at zero. It never goes back,
  // while `now` may.
  std::chrono::microseconds running{0};
  std::vector<RecentWarning> warnings = {};  // of the log, the latest last
};

std::string StatusJson(const RelayStatus& status, const StatusContext& context);

}  // namespace walpost
