// Checks whether a text is valid UTF-8, and makes it so.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace walpost {

bool IsUtf8(std::string_view text);

// The beginning of any text, at most `most_bytes`, as valid UTF-8: cut between
// two characters, with '?' for each invalid byte, and for each NUL, which no
// text of Postgres contains.
std::string ValidUtf8(std::string_view text, size_t most_bytes);

}  // namespace walpost
