// The word that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace walpost {

// Of `known` the one with the fewest edits (insert, drop, change or swap of
// neighbours) from `word`; empty where even that one is too far away.
std::string NearestWord(std::string_view word,
                        const std::vector<std::string>& known);

}  // namespace walpost
