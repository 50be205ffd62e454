// JavaPattern: a regular expression in the syntax of java.util.regex, and the
// replacement of its first match.
//
//   Replace("order.v1") with (?<name>.*)\.v1 and event.${name} is event.order
//
// The value must match as a whole (Matcher.matches); then the first match in
// it, which can be shorter, is replaced (String.replaceFirst). A value that
// does not match stays as it is.
//
// RE2 does the matching: the same leftmost-first choice as Java's, in linear
// time. A pattern that RE2 cannot match with the same meaning is refused when
// it is created: look-around, back references, possessive quantifiers,
// repetitions of what can be empty, intersections of classes, \b, and flags
// other than i, s and d.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace re2 {
class RE2;
}

namespace walpost {

class JavaPattern {
 public:
  // Whether ASCII letters match in either case, as Pattern.compile takes it.
  enum class Case { kSensitive, kInsensitive };

  // kInvalidArgument says what in the pattern or in the replacement is wrong,
  // or what cannot be matched as Java does, and the remedy.
  static absl::StatusOr<JavaPattern> Create(std::string_view pattern,
                                            std::string_view replacement,
                                            Case letters = Case::kSensitive);

  // True if the whole value matches. Java reads bytes that are not UTF-8 as
  // other characters; so does this.
  bool Matches(std::string_view value) const;

  // Replaces the first match in text[from..], if all of that matches.
  // kInvalidArgument: the pattern has a $ or \Z, and the value ends with a line
  // terminator, where Java's meaning of these is not RE2's.
  absl::Status ReplaceFirst(std::string& text, size_t from) const;

  const std::string& pattern() const { return pattern_; }

 private:
  // A part of the replacement: a literal, then a group, unless it is -1.
  struct Piece {
    std::string literal;
    int group = -1;
  };

  JavaPattern() = default;

  std::string pattern_;
  // Shared by copies, which a route's template has: a compiled pattern is
  // immutable and cannot be copied.
  std::shared_ptr<const re2::RE2> compiled_;
  bool has_end_anchor_ = false;
  std::vector<Piece> replacement_;
};

}  // namespace walpost
