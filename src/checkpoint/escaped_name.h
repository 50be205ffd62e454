// Names of tables in the records of a publication's comment, which have no
// spaces and no commas.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// Everything but letters, digits, '_' and '.' as %XX.
std::string EscapeName(std::string_view name);
std::string UnescapeName(std::string_view escaped);

}  // namespace walpost
