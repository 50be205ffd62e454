// The state of walpost as one line, for people: "stuck: Kafka at ...".
#pragma once

#include <string>

#include "health/relay_status.h"

namespace walpost {

// State and reason, without a line break, whatever a server's message contains.
std::string StateLine(const RelayStatus& status);

}  // namespace walpost
