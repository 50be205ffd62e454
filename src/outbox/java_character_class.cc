#include "outbox/java_character_class.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};
using CodeRanges = std::vector<CodeRange>;

const CodeRanges kDigits = {{'0', '9'}};
const CodeRanges kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CodeRanges kJavaSpace = {{'\t', '\r'}, {' ', ' '}};
const CodeRanges kHorizontalSpace = {
    {'\t', '\t'},     {' ', ' '},       {0xA0, 0xA0},
    {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200A},
    {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
const CodeRanges kVerticalSpace = {
    {'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}};

struct NamedRanges {
  std::string_view name;
  CodeRanges ranges;
  bool has_case = false;
};
// The classes of POSIX, which are of ASCII alone, and Java's own.
const NamedRanges kNamedRanges[] = {
    {"Lower", {{'a', 'z'}}, true},
    {"Upper", {{'A', 'Z'}}, true},
    {"ASCII", {{0, 0x7F}}},
    {"Alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"Digit", {{'0', '9'}}},
    {"Alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"Punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"Graph", {{'!', '~'}}},
    {"Print", {{' ', '~'}}},
    {"Blank", {{'\t', '\t'}, {' ', ' '}}},
    {"Cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
    {"XDigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
    {"Space", {{'\t', '\r'}, {' ', ' '}}},
    {"L1", {{0, 0xFF}}},
    {"all", {{0, kMaxCodePoint}}},
};

struct Category {
  std::string_view name;
  bool has_case = false;
};
// Categories of Unicode that mean the same to RE2. C and Cn do not: RE2's have
// no unassigned characters.
constexpr Category kCategories[] = {
    {"L"},  {"Lu", true}, {"Ll", true}, {"Lt", true}, {"Lm"}, {"Lo"}, {"M"},
    {"Mn"}, {"Me"},       {"Mc"},       {"N"},        {"Nd"}, {"Nl"}, {"No"},
    {"Z"},  {"Zs"},       {"Zl"},       {"Zp"},       {"Cc"}, {"Cf"}, {"Co"},
    {"P"},  {"Pd"},       {"Ps"},       {"Pe"},       {"Pc"}, {"Po"}, {"Pi"},
    {"Pf"}, {"S"},        {"Sm"},       {"Sc"},       {"Sk"}, {"So"},
};

// Adds characters to a class, as RE2 writes it between its brackets.
void AddRanges(std::string& text, const CodeRanges& ranges) {
  for (const auto [first, last] : ranges) {
    fmt::format_to(std::back_inserter(text), "\\x{{{:X}}}",
                   static_cast<uint32_t>(first));
    if (last != first) {
      fmt::format_to(std::back_inserter(text), "-\\x{{{:X}}}",
                     static_cast<uint32_t>(last));
    }
  }
}

CodeRanges Others(const CodeRanges& sorted) {
  CodeRanges others;
  char32_t next = 0;
  for (const auto [first, last] : sorted) {
    if (first > next) others.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= kMaxCodePoint) others.push_back({next, kMaxCodePoint});
  return others;
}

// With what a range has in the other case; of ASCII alone, as in Java.
CodeRanges WithBothCases(CodeRange range) {
  CodeRanges both = {range};
  constexpr char32_t kCaseBit = 'a' - 'A';
  for (const char32_t base : {U'A', U'a'}) {
    const char32_t first = std::max(range.first, base);
    const char32_t last = std::min<char32_t>(range.last, base + 25);
    if (first <= last) {
      both.push_back({first ^ kCaseBit, last ^ kCaseBit});
    }
  }
  return both;
}

bool IsClassEscape(char32_t c) {
  return std::u32string_view(U"dDwWsShHvVpPQ").find(c) !=
         std::u32string_view::npos;
}

absl::StatusOr<char32_t> ClassCharacter(JavaPatternCursor& cursor,
                                        bool is_quoted) {
  if (is_quoted || cursor.Peek() != '\\') return cursor.Next();
  return cursor.ReadEscape();
}

absl::Status ReadProperty(JavaPatternCursor& cursor, bool ignore_case,
                          std::string& text) {
  const bool is_negated = cursor.Peek(1) == 'P';
  cursor.Skip(2);
  std::string name;
  if (cursor.Take(U"{")) {
    while (cursor.Peek() != '}') {
      if (cursor.Peek() >= 0x80)
        return cursor.Error("a '\\p{' without its '}'");
      name += static_cast<char>(cursor.Next());
    }
    cursor.Skip();
  } else if (cursor.Peek() < 0x80) {
    name = static_cast<char>(cursor.Next());
  }
  const auto unknown = [&] {
    return cursor.Refuse(fmt::format("\\p{{{}}}", name),
                         "use a category such as \\p{L}, a script such as "
                         "\\p{IsGreek}, or the characters themselves");
  };
  const auto check_case = [&](bool has_case) {
    return has_case && ignore_case
               ? cursor.Refuse(
                     fmt::format("\\p{{{}}} with the flag i, which depends "
                                 "on the release of Java,",
                                 name),
                     "use \\p{Alpha} or \\p{L}")
               : absl::OkStatus();
  };
  for (const NamedRanges& named : kNamedRanges) {
    if (named.name != name) continue;
    AddRanges(text, is_negated ? Others(named.ranges) : named.ranges);
    return check_case(named.has_case);
  }
  const std::string_view its = name;
  const auto after = [&](std::string_view start) {
    return its.starts_with(start) ? its.substr(start.size())
                                  : std::string_view();
  };
  std::string_view category = its;
  for (const char* start : {"Is", "gc=", "general_category="}) {
    if (!after(start).empty()) category = after(start);
  }
  for (const Category& one : kCategories) {
    if (one.name != category) continue;
    text += fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', category);
    return check_case(one.has_case);
  }
  std::string_view script;
  for (const char* start : {"Is", "sc=", "script="}) {
    if (!after(start).empty()) script = after(start);
  }
  if (script.size() < 2) return unknown();
  std::string titled;  // as in Old_Italic
  for (const char c : script) {
    if (!IsAsciiLetter(static_cast<unsigned char>(c)) && c != '_') {
      return unknown();
    }
    const bool is_first = titled.empty() || titled.back() == '_';
    titled += c == '_'   ? c
              : is_first ? static_cast<char>(c & ~0x20)
                         : static_cast<char>(c | 0x20);
  }
  text += fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', titled);
  return absl::OkStatus();
}

}  // namespace

std::string JavaCharacterText(char32_t c, bool ignore_case) {
  std::string text;
  AddRanges(text, ignore_case ? WithBothCases({c, c}) : CodeRanges{{c, c}});
  return text;
}

absl::StatusOr<bool> ReadJavaClassEscape(JavaPatternCursor& cursor,
                                         bool ignore_case, std::string& text) {
  const auto add = [&](const CodeRanges& ranges, bool is_negated) {
    cursor.Skip(2);
    AddRanges(text, is_negated ? Others(ranges) : ranges);
    return true;
  };
  switch (cursor.Peek(1)) {
    case 'd':
    case 'D':
      return add(kDigits, cursor.Peek(1) == 'D');
    case 'w':
    case 'W':
      return add(kWord, cursor.Peek(1) == 'W');
    case 's':
    case 'S':
      return add(kJavaSpace, cursor.Peek(1) == 'S');
    case 'h':
    case 'H':
      return add(kHorizontalSpace, cursor.Peek(1) == 'H');
    case 'v':
    case 'V':
      return add(kVerticalSpace, cursor.Peek(1) == 'V');
    case 'p':
    case 'P':
      WALPOST_RETURN_IF_ERROR(ReadProperty(cursor, ignore_case, text));
      return true;
    default:
      return false;
  }
}

absl::StatusOr<std::string> ReadJavaClass(JavaPatternCursor& cursor,
                                          bool ignore_case) {
  cursor.Skip();
  const bool is_negated = cursor.Take(U"^");
  std::string text;
  bool is_quoted = false;
  for (;;) {
    if (cursor.Peek() == JavaPatternCursor::kEnd)
      return cursor.Error("a '[' without its ']'");
    if (is_quoted && cursor.Take(U"\\E")) {
      is_quoted = false;
      continue;
    }
    if (!is_quoted && cursor.Take(U"\\Q")) {
      is_quoted = true;
      continue;
    }
    if (!is_quoted) {
      if (cursor.Peek() == ']') {
        if (text.empty())
          return cursor.Error(
              "a class without a character; "
              "write \\] for the character");
        cursor.Skip();
        break;
      }
      if (cursor.Peek() == '[') {
        return cursor.Refuse("a class within a class",
                             "write one class, or \\[ for the character");
      }
      if (cursor.Peek() == '&' && cursor.Peek(1) == '&') {
        return cursor.Refuse("an intersection of classes (&&)",
                             "write the characters of both");
      }
      if (cursor.Peek() == '\\') {
        WALPOST_ASSIGN_OR_RETURN(
            const bool is_class,
            ReadJavaClassEscape(cursor, ignore_case, text));
        if (is_class) continue;
      }
    }
    WALPOST_ASSIGN_OR_RETURN(const char32_t first,
                             ClassCharacter(cursor, is_quoted));
    char32_t last = first;
    if (!is_quoted && cursor.Peek() == '-' && cursor.Peek(1) != ']') {
      cursor.Skip();
      if (cursor.Peek() == '[' ||
          (cursor.Peek() == '\\' && IsClassEscape(cursor.Peek(1)))) {
        return cursor.Error(
            "a '-' before a class; write \\- for the character");
      }
      if (cursor.Peek() == JavaPatternCursor::kEnd)
        return cursor.Error("a '[' without its ']'");
      WALPOST_ASSIGN_OR_RETURN(last, ClassCharacter(cursor, is_quoted));
      if (last < first)
        return cursor.Error("a range with the larger end first");
    }
    AddRanges(text, ignore_case ? WithBothCases({first, last})
                                : CodeRanges{{first, last}});
  }
  return (is_negated ? "[^" : "[") + text + "]";
}

}  // namespace walpost
