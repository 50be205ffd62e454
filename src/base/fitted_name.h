// Names that must fit the 63 bytes of a name in Postgres. The server cuts a
// longer one without a word, and then it is equal to others.
//
//   production_eu_west_1_payments~3f2a91c0    FittedName(slot, 33, '~')
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace walpost {

// NAMEDATALEN - 1: of an identifier, a slot, an application_name.
inline constexpr size_t kMaxNameBytes = 63;

// `name`, or its beginning, `mark` and eight hexadecimal digits of its SHA-256:
// at most `limit` bytes. Below a limit of nine, the digits alone.
std::string FittedName(std::string_view name, size_t limit, char mark);

}  // namespace walpost
