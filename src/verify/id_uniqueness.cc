#include "verify/id_uniqueness.h"

#include "absl/strings/ascii.h"

namespace walpost {
namespace {

// 00000000-0000-4000-8000-000000000000
constexpr size_t kUuidLength = 36;
constexpr size_t kVersionAt = 14;
constexpr std::string_view kUniqueVersions = "1467";

bool IsUuid(std::string_view id) {
  if (id.size() != kUuidLength) return false;
  for (size_t i = 0; i < id.size(); ++i) {
    const bool wants_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (wants_dash ? id[i] != '-'
                   : !absl::ascii_isxdigit(static_cast<unsigned char>(id[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool CanRepeat(std::string_view id) {
  return !IsUuid(id) ||
         kUniqueVersions.find(id[kVersionAt]) == std::string_view::npos;
}

}  // namespace walpost
