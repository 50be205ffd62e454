// Which settings are secrets, and what is shown instead.
#pragma once

#include <string_view>

namespace walpost {

inline constexpr std::string_view kHidden = "********";

// Whether a librdkafka property's value is a secret.
bool IsSecretProperty(std::string_view name);

}  // namespace walpost
