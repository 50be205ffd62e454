// The hash by which values are compared. A payload and a claim check in its
// place have the same hash.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/sha256.h"

namespace walpost {

// `claimed`: the digest of the payload, for a record without it. nullopt: the
// value is null.
inline std::optional<int64_t> HashOfValue(
    const std::optional<std::string_view>& value,
    const std::optional<Sha256Digest>& claimed = std::nullopt) {
  if (!value && !claimed) return std::nullopt;
  const Sha256Digest digest = claimed ? *claimed : Sha256(*value);
  int64_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof(hash));
  return hash;
}

}  // namespace walpost
