// Base64 as java.util.Base64 and Jackson write it: padded, without line breaks.
#pragma once

#include <string>
#include <string_view>

namespace walpost::debezium {

enum class Base64Alphabet { kStandard, kUrlSafe };

void AppendBase64(std::string_view bytes, Base64Alphabet alphabet,
                  std::string& out);

}  // namespace walpost::debezium
