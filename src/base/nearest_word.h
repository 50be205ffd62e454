// Suggests the word that was probably meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

// Edits (insert, drop, change or swap of neighbours) from one word to the
// other.
size_t EditDistance(std::string_view a, std::string_view b);

// The word in `known` with the fewest edits (insert, drop, change or swap of
// neighbours) from `word`; empty if it differs too much.
std::string NearestWord(std::string_view word,
                        const std::vector<std::string>& known);

}  // namespace walpost
