// The /status page: a RelayStatus as one flat JSON object, for people with curl
// and programs with jq.
//
// LSNs are text as in Postgres, durations are seconds. Unknown values are null.
// Only members about polling and pruning may be absent.
#pragma once

#include <string>
#include <string_view>

#include "health/relay_status.h"

namespace walpost {

std::string StatusJson(const RelayStatus& status, std::string_view version);

}  // namespace walpost
