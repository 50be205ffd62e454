// --set dotted.key=value, laid over the YAML of the file.
#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace walpost {

// Sets every override in `root`, and notes its key in `overridden`. The value
// is YAML: a word, or a list or mapping in its inline form. Below
// kafka.properties and route.headers the rest of the key is one name, dots
// and all.
//
// kInvalidArgument: not of the form key=value, or the value is no YAML.
absl::Status ApplyOverrides(const std::vector<std::string>& overrides,
                            YAML::Node& root,
                            std::set<std::string>& overridden);

}  // namespace walpost
