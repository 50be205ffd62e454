// A text with something about each topic, as checkpoints have it:
//
//   "invoices=Xq3Zl0Jz,orders=..."
//
// In a name, %, comma and = are %25, %2C and %3D. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace walpost {

std::string EscapedTopic(std::string_view name);
std::string UnescapedTopic(std::string_view text);

void AppendTopic(std::string_view name, std::string_view value,
                 std::string& text);

// The first topic of `text`, which is taken off; the name or the value is empty
// if its part does not parse.
std::pair<std::string, std::string_view> TakeTopic(std::string_view& text);

}  // namespace walpost
