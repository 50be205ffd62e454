#include "outbox/java_pattern_cursor.h"

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::u32string CodePoints(std::string_view text) {
  std::u32string points;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                                        : 4;
    char32_t point = length == 1 ? lead : lead & (0x7F >> length);
    for (size_t k = 1; k < length; ++k) {
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
    }
    points.push_back(point);
    i += length;
  }
  return points;
}

}  // namespace

bool IsAsciiLetter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsAsciiDigit(char32_t c) { return c >= '0' && c <= '9'; }

JavaPatternCursor::JavaPatternCursor(std::string_view pattern)
    : points_(CodePoints(pattern)) {}

absl::Status JavaPatternCursor::Error(std::string_view reason) const {
  return absl::InvalidArgumentError(
      fmt::format("{} (at character {})", reason, at_ + 1));
}

absl::Status JavaPatternCursor::Refuse(std::string_view what,
                                       std::string_view remedy) const {
  return Error(
      fmt::format("{} cannot be matched as Java does; {}", what, remedy));
}

char32_t JavaPatternCursor::Peek(size_t ahead) const {
  return at_ + ahead < points_.size() ? points_[at_ + ahead] : kEnd;
}

bool JavaPatternCursor::Take(std::u32string_view text) {
  if (points_.compare(at_, text.size(), text) != 0) return false;
  at_ += text.size();
  return true;
}

absl::StatusOr<char32_t> JavaPatternCursor::ReadEscape() {
  const char32_t c = Peek(1);
  if (c == kEnd) return Error("a '\\' at the end");
  at_ += 2;
  switch (c) {
    case 't':
      return U'\t';
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 'f':
      return U'\f';
    case 'a':
      return U'\a';
    case 'e':
      return U'\x1B';
    case 'c':
      if (Peek() >= 0x80) return Error("a character is missing after \\c");
      return points_[at_++] ^ 64;
    case '0':
      return ReadOctal();
    case 'x':
      if (Take(U"{")) {
        WALPOST_ASSIGN_OR_RETURN(const char32_t point, ReadHex(1, 6));
        if (!Take(U"}")) return Error("a '\\x{' without its '}'");
        return Checked(point);
      }
      return ReadHex(2, 2);
    case 'u': {
      WALPOST_ASSIGN_OR_RETURN(char32_t point, ReadHex(4, 4));
      if (point >= 0xD800 && point < 0xDC00 && Take(U"\\u")) {
        WALPOST_ASSIGN_OR_RETURN(const char32_t low, ReadHex(4, 4));
        if (low < 0xDC00 || low > 0xDFFF) return Checked(point);
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
      }
      return Checked(point);
    }
    default:
      if (IsAsciiLetter(c) || IsAsciiDigit(c)) {
        at_ -= 2;
        return Error(fmt::format("\\{} is not an escape of Java's",
                                 static_cast<char>(c)));
      }
      return c;
  }
}

absl::StatusOr<char32_t> JavaPatternCursor::Checked(char32_t point) const {
  if (point <= kMaxCodePoint && (point < 0xD800 || point > 0xDFFF)) {
    return point;
  }
  return Error("this is not a character");
}

absl::StatusOr<char32_t> JavaPatternCursor::ReadOctal() {
  const auto is_octal = [this] { return Peek() >= '0' && Peek() <= '7'; };
  if (!is_octal()) return Error("an octal digit is missing after \\0");
  char32_t value = points_[at_++] - '0';
  const int more = value <= 3 ? 2 : 1;
  for (int i = 0; i < more && is_octal(); ++i) {
    value = value * 8 + (points_[at_++] - '0');
  }
  return value;
}

absl::StatusOr<char32_t> JavaPatternCursor::ReadHex(int least, int most) {
  char32_t value = 0;
  int digits = 0;
  for (; digits < most; ++digits, ++at_) {
    const char32_t c = Peek();
    const char32_t low = c | 0x20;
    if (IsAsciiDigit(c)) {
      value = value * 16 + (c - '0');
    } else if (c < 0x80 && low >= 'a' && low <= 'f') {
      value = value * 16 + (low - 'a' + 10);
    } else {
      break;
    }
  }
  if (digits < least) return Error("a hexadecimal digit is missing");
  return value;
}

}  // namespace walpost
