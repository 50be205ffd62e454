// Writes the configuration file of an import.
#pragma once

#include <string>

#include "import/import_context.h"

namespace walpost {

// The file, with a comment for each note of the report. Nothing in it is
// secret.
std::string WriteConfig(const ImportContext& context, const std::string& file);

// A text as a scalar of YAML: plain, if it is read back as this text, and in
// double quotes otherwise.
std::string YamlScalar(std::string_view text);

}  // namespace walpost
