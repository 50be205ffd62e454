// Translates the syntax of java.util.regex.Pattern into that of RE2.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost {

struct TranslatedPattern {
  std::string re2;  // with numbered groups alone
  int groups = 0;
  std::vector<std::pair<std::string, int>> names;  // of groups
  bool has_end_anchor = false;                     // $ or \Z
};

// kInvalidArgument says what is wrong, or what RE2 cannot match as Java does.
absl::StatusOr<TranslatedPattern> TranslateJavaPattern(std::string_view pattern,
                                                       bool ignore_case);

}  // namespace walpost
