// --set dotted.key=value, which overrides the YAML of the file.
#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace walpost {

// Sets every override in `root`, and adds its key to `overridden`. The value is
// YAML: a word, or a list or mapping in its inline form. Below kafka.properties
// and route.headers the rest of the key is one name, including dots.
//
// kInvalidArgument: the form is not key=value, or the value is not YAML.
absl::Status ApplyOverrides(const std::vector<std::string>& overrides,
                            YAML::Node& root,
                            std::set<std::string>& overridden);

// True if an override may have a password or another secret in its value, so
// that it must not be shown.
bool MayHoldSecret(const std::string& override);

}  // namespace walpost
