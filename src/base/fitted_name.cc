#include "base/fitted_name.h"

#include "base/sha256.h"
#include "fmt/format.h"

namespace walpost {

std::string FittedName(std::string_view name, size_t limit, char mark) {
  constexpr size_t kDigits = 8;
  if (name.size() <= limit) return std::string(name);
  const Sha256Digest hash = Sha256(name);
  const std::string digits = fmt::format("{:02x}{:02x}{:02x}{:02x}", hash[0],
                                         hash[1], hash[2], hash[3]);
  if (limit <= kDigits) return digits;
  return std::string(name.substr(0, limit - kDigits - 1)) + mark + digits;
}

}  // namespace walpost
