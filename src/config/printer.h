// The configuration in effect, as YAML.
#pragma once

#include <string>

#include "config/config.h"

namespace walpost {

// All keys with their values, without unset `state` keys; secrets are hidden
// (secrets.h). Apart from secrets the text parses to the same Config.
std::string PrintConfig(const Config& config);

}  // namespace walpost
