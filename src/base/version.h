// The version of this binary.
#pragma once

#include <string_view>

namespace walpost {

// Set by CMake from project(VERSION).
inline constexpr std::string_view kVersion = WALPOST_VERSION;

}  // namespace walpost
