#include "base/uuid.h"

#include <chrono>

#include "fmt/format.h"

namespace walpost {

std::string UuidV7(WallTime now, std::array<uint32_t, 3> random) {
  const auto millis =
      static_cast<uint64_t>(std::chrono::floor<std::chrono::milliseconds>(now)
                                .time_since_epoch()
                                .count());
  constexpr uint32_t kVersion = 0x7000;
  constexpr uint32_t kVariant = 0x8000;
  return fmt::format(
      "{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", (millis >> 16) & 0xFFFFFFFF,
      millis & 0xFFFF, kVersion | (random[0] & 0xFFF),
      kVariant | ((random[0] >> 16) & 0x3FFF), random[1] & 0xFFFF, random[2]);
}

}  // namespace walpost
