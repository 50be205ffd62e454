// UUIDs of version 7 (RFC 9562, section 5.7): a time, and random bits.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/time.h"

namespace walpost {

// In text form, with lower-case digits. Pure: `random` comes from the caller.
std::string UuidV7(WallTime now, std::array<uint32_t, 3> random);

}  // namespace walpost
