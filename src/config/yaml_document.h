// Reads YAML without skipping anything, and writes texts that are read back as
// they are.
#pragma once

#include <string>
#include <vector>

#include "yaml-cpp/yaml.h"

namespace walpost {

// The only document of a YAML text; an empty text is a null node.
//
// Throws YAML::ParserException for invalid YAML and for a second document.
// yaml-cpp's own loaders are not suitable: Load() skips everything after the
// first document, and LoadAll() before 0.8.1 never returns from a stray ',' or
// ']', filling the memory with empty documents.
YAML::Node LoadYamlDocument(const std::string& text);

// `text` as a string, also if it is empty or has a "${" (substitution.h).
YAML::Node Quoted(const std::string& text);

YAML::Node Quoted(const std::vector<std::string>& texts);

}  // namespace walpost
