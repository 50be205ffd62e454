// The /status page: everything in a RelayStatus as one JSON object. LSNs are
// text as Postgres prints them, durations are in seconds.
#pragma once

#include <string>
#include <string_view>

#include "delivery/relay_status.h"

namespace walpost {

std::string StatusJson(const RelayStatus& status, std::string_view version);

}  // namespace walpost
