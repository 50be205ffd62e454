// The configuration as it is in effect, as YAML.
#pragma once

#include <string>

#include "config/config.h"

namespace walpost {

// Every key with its value; secrets are hidden (secrets.h). Apart from those
// the text parses to the same Config.
std::string PrintConfig(const Config& config);

}  // namespace walpost
