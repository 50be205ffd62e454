// Secret settings, and the text shown instead.
#pragma once

#include <string_view>

namespace walpost {

inline constexpr std::string_view kHidden = "********";

// kIfReadable: the sources of values that are read again at each use, such as
// passwords, may be missing, because nobody uses them.
enum class Secrets { kNeeded, kIfReadable };

// True if a librdkafka property's value is a secret.
bool IsSecretProperty(std::string_view name);

}  // namespace walpost
