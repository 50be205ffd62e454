// SimilarTable: the table that was probably meant by a name that does not
// exist. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace walpost {

// The name among `existing` (schema.table) that is most similar to `wanted`;
// empty: none is so similar that `wanted` looks like a slip: another case, a
// plural, a letter or two, or the same name in another schema.
std::string SimilarTable(std::string_view wanted,
                         const std::vector<std::string>& existing);

}  // namespace walpost
