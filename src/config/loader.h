// Reads a Config from a YAML file, the environment and --set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "config/key_description.h"
#include "config/secrets.h"
#include "config/substitution.h"

namespace walpost {

// Reads the file and applies `overrides`, each as "dotted.key=value".
// `named_by` completes the message about a file that cannot be read: who has
// chosen this path, and what chooses another.
//
// kInvalidArgument: one line with file, line, key and error: not YAML, an
// unknown key, a value of the wrong kind or out of range, a reference that
// cannot be resolved, a topic template that does not parse. The verbs check
// further requirements (brokers, conninfo).
absl::StatusOr<Config> LoadConfig(const std::string& path,
                                  const std::vector<std::string>& overrides,
                                  Secrets secrets = Secrets::kNeeded,
                                  std::string_view named_by = "");

// The same for a text; `file_name` is for messages. Reads other sources only
// through `environment`.
absl::StatusOr<Config> ParseConfig(std::string_view text,
                                   const std::string& file_name,
                                   const std::vector<std::string>& overrides,
                                   const Environment& environment,
                                   Secrets secrets = Secrets::kNeeded);

// All keys, in the order of the file, with their values in `config`.
std::vector<KeyDescription> DescribeKeys(Config config);
// Their defaults, with one table.
std::vector<KeyDescription> DescribeDefaults();

}  // namespace walpost
