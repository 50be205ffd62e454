// Reading YAML with nothing passed over.
#pragma once

#include <string>

#include "yaml-cpp/yaml.h"

namespace walpost {

// The one document of a YAML text; an empty text is a null node.
//
// Throws YAML::ParserException for what is not YAML and for a second document.
// Of yaml-cpp's own loaders, Load() passes over whatever follows the first
// document, and LoadAll() of the versions before 0.8.1 never returns from a
// stray ',' or ']', filling the memory with empty documents.
YAML::Node LoadYamlDocument(const std::string& text);

}  // namespace walpost
