// Text that others take for UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace walpost {

bool IsUtf8(std::string_view text);

// The beginning of a text of any origin, at most `most_bytes`, as valid UTF-8:
// cut between two characters, and with '?' for each byte that is of none, and
// for each NUL, which no text of Postgres has.
std::string ValidUtf8(std::string_view text, size_t most_bytes);

}  // namespace walpost
