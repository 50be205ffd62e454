// Name of a relay at the coordinator of transactions: the instance that takes
// the slot over fences earlier ones by it.
#pragma once

#include <string>
#include <string_view>

#include "fmt/format.h"

namespace walpost {

inline std::string RelayTransactionalId(std::string_view system_identifier,
                                        std::string_view slot) {
  return fmt::format("walpost-{}-{}", system_identifier, slot);
}

}  // namespace walpost
