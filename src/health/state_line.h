// The state of walpost as one line, for people: "stuck: Kafka at ...".
#pragma once

#include <string>

#include "health/relay_status.h"

namespace walpost {

// State and reason, without a line break, whatever a server's message contains.
std::string StateLine(const RelayStatus& status);

// True if the state is the truth about walpost: it has begun, or has been
// starting for as long as the promise about readiness allows.
bool IsStateKnown(const RelayStatus& status);

}  // namespace walpost
