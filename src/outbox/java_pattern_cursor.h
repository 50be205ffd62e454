// JavaPatternCursor: reads the characters of a pattern in the syntax of
// java.util.regex.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace walpost {

inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

bool IsAsciiLetter(char32_t c);
bool IsAsciiDigit(char32_t c);

class JavaPatternCursor {
 public:
  static constexpr char32_t kEnd = 0xFFFFFFFF;

  // `pattern` is UTF-8.
  explicit JavaPatternCursor(std::string_view pattern);

  // The character `ahead` of the next one; kEnd: there is none.
  char32_t Peek(size_t ahead = 0) const;
  // Goes on behind the next `count` characters, which must be there.
  void Skip(size_t count = 1) { at_ += count; }
  // If the next characters are these, goes on behind them.
  bool Take(std::u32string_view text);
  // The next character, which must be there.
  char32_t Next() { return points_[at_++]; }

  // The one character that an escape stands for; a \ is the next one.
  absl::StatusOr<char32_t> ReadEscape();

  // kInvalidArgument with the place.
  absl::Status Error(std::string_view reason) const;
  // The same for what Java has and RE2 has not.
  absl::Status Refuse(std::string_view what, std::string_view remedy) const;

 private:
  absl::StatusOr<char32_t> Checked(char32_t point) const;
  absl::StatusOr<char32_t> ReadOctal();
  absl::StatusOr<char32_t> ReadHex(int least, int most);

  std::u32string points_;
  size_t at_ = 0;
};

}  // namespace walpost
