// From a YAML file, the environment and --set to a Config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "config/substitution.h"

namespace walpost {

// Reads the file and applies `overrides`, each as "dotted.key=value".
//
// kInvalidArgument: one line with file, line, key and what is wrong: not
// YAML, an unknown key, a value of the wrong kind or out of its range, a
// reference that leads nowhere, a topic template that does not parse.
// What a verb needs beyond that (brokers, conninfo) it asks for itself.
absl::StatusOr<Config> LoadConfig(const std::string& path,
                                  const std::vector<std::string>& overrides);

// The same from a text; `file_name` is for messages. Reads nothing but
// through `environment`.
absl::StatusOr<Config> ParseConfig(std::string_view text,
                                   const std::string& file_name,
                                   const std::vector<std::string>& overrides,
                                   const Environment& environment);

}  // namespace walpost
