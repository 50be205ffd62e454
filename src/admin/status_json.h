// The /status page: a RelayStatus as one flat JSON object, for people with
// curl and programs with jq.
//
// LSNs are text as Postgres prints them, durations are seconds. Every member
// is always there; what is not known yet is null.
#pragma once

#include <string>
#include <string_view>

#include "delivery/relay_status.h"

namespace walpost {

std::string StatusJson(const RelayStatus& status, std::string_view version);

}  // namespace walpost
