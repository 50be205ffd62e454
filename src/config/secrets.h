// Secret settings, and the text shown instead.
#pragma once

#include <string_view>

namespace walpost {

inline constexpr std::string_view kHidden = "********";

// True if a librdkafka property's value is a secret.
bool IsSecretProperty(std::string_view name);

}  // namespace walpost
