// What must not be shown: passwords and keys, in conninfos and properties.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

inline constexpr std::string_view kHidden = "********";

// Whether a librdkafka property's value is a secret.
bool IsSecretProperty(std::string_view name);

// A libpq conninfo or URI with its passwords replaced by kHidden. What does
// not parse is hidden whole.
std::string HideConninfoSecrets(const std::string& conninfo);

}  // namespace walpost
