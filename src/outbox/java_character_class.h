// Classes of characters in patterns of java.util.regex, as RE2 writes them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "outbox/java_pattern_cursor.h"

namespace walpost {

// Reads a class in brackets; the [ is the next character. With `ignore_case`
// ASCII letters stand for both cases.
absl::StatusOr<std::string> ReadJavaClass(JavaPatternCursor& cursor,
                                          bool ignore_case);

// Reads \d, \p{L} and the like, and adds its characters to `text`, which is
// between brackets. False: the escape is not of a class, and is still to be
// read.
absl::StatusOr<bool> ReadJavaClassEscape(JavaPatternCursor& cursor,
                                         bool ignore_case, std::string& text);

// One character, as in a class.
std::string JavaCharacterText(char32_t c, bool ignore_case);

}  // namespace walpost
