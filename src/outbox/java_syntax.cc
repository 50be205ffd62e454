#include "outbox/java_syntax.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
constexpr int kMaxPatternDepth = 50;
constexpr int kMaxRepetitions = 1000;  // RE2's own
constexpr char32_t kMaxCodePoint = 0x10FFFF;
constexpr char32_t kPatternEnd = 0xFFFFFFFF;

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

// The characters of a class, as RE2 writes them between its brackets.
struct ClassText {
  std::string text;

  void Add(const CodeRanges& ranges) {
    for (const auto [first, last] : ranges) {
      fmt::format_to(std::back_inserter(text), "\\x{{{:X}}}",
                     static_cast<uint32_t>(first));
      if (last != first) {
        fmt::format_to(std::back_inserter(text), "-\\x{{{:X}}}",
                       static_cast<uint32_t>(last));
      }
    }
  }
};

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

bool IsAsciiLetter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsAsciiDigit(char32_t c) { return c >= '0' && c <= '9'; }

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

// (?i), (?s), (?d)
struct Flags {
  bool ignore_case = false;
  bool dot_all = false;
  bool unix_lines = false;
};

// A part of the pattern.
struct Part {
  std::string text;  // to which a quantifier can be added
  bool can_be_empty = false;
  bool is_anchor = false;
  bool has_group = false;           // that is captured
  bool has_repeated_group = false;  // likewise
};

class JavaPatternParser {
 public:
  JavaPatternParser(std::string_view pattern, bool ignore_case)
      : points_(CodePoints(pattern)) {
    flags_.ignore_case = ignore_case;
  }

  absl::StatusOr<TranslatedPattern> Parse() {
    WALPOST_ASSIGN_OR_RETURN(Part all, ParseAlternatives(0));
    if (at_ < points_.size()) return Error("a ')' without its '('");
    translated_.re2 = std::move(all.text);
    return std::move(translated_);
  }

 private:
  absl::Status Error(std::string_view reason) const {
    return absl::InvalidArgumentError(
        fmt::format("{} (at character {})", reason, at_ + 1));
  }

  // What Java has and RE2 has not.
  absl::Status Refuse(std::string_view what, std::string_view remedy) const {
    return Error(
        fmt::format("{} cannot be matched as Java does; {}", what, remedy));
  }

  char32_t Peek(size_t ahead = 0) const {
    return at_ + ahead < points_.size() ? points_[at_ + ahead] : kPatternEnd;
  }

  bool Take(std::u32string_view text) {
    if (points_.compare(at_, text.size(), text) != 0) return false;
    at_ += text.size();
    return true;
  }

  absl::StatusOr<Part> ParseAlternatives(int depth) {
    if (depth > kMaxPatternDepth) {
      return Error(fmt::format("more than {} groups within each other",
                               kMaxPatternDepth));
    }
    Part all;
    for (bool is_first = true;; is_first = false) {
      WALPOST_ASSIGN_OR_RETURN(Part one, ParseSequence(depth));
      if (!is_first) all.text += '|';
      all.text += one.text;
      all.can_be_empty |= one.can_be_empty;
      all.has_group |= one.has_group;
      all.has_repeated_group |= one.has_repeated_group;
      if (!Take(U"|")) return all;
    }
  }

  absl::StatusOr<Part> ParseSequence(int depth) {
    Part sequence;
    sequence.can_be_empty = true;
    for (;;) {
      if (quoted_ && Take(U"\\E")) {
        quoted_ = false;
        continue;
      }
      if (!quoted_ && Take(U"\\Q")) {
        quoted_ = true;
        continue;
      }
      const char32_t c = Peek();
      if (c == kPatternEnd || (!quoted_ && (c == '|' || c == ')'))) {
        return sequence;
      }
      WALPOST_ASSIGN_OR_RETURN(Part atom, ParseAtom(depth));
      // The quantifier of the last quoted character is behind the \E.
      if (quoted_ && Take(U"\\E")) quoted_ = false;
      if (!quoted_) WALPOST_RETURN_IF_ERROR(ParseQuantifier(atom));
      sequence.text += atom.text;
      sequence.can_be_empty &= atom.can_be_empty;
      sequence.has_group |= atom.has_group;
      sequence.has_repeated_group |= atom.has_repeated_group;
    }
  }

  absl::StatusOr<Part> ParseAtom(int depth) {
    const char32_t c = Peek();
    if (quoted_) {
      ++at_;
      return Literal(c);
    }
    switch (c) {
      case '(':
        return ParseGroup(depth);
      case '[':
        return ParseClass();
      case '\\':
        return ParseEscape();
      case '.':
        ++at_;
        return Dot();
      case '^':
        ++at_;
        return Anchor("\\A");
      case '$':
        ++at_;
        return EndAnchor();
      case '*':
      case '+':
      case '?':
        return Error(
            fmt::format("nothing is before the '{}'", static_cast<char>(c)));
      case '{':
        return Error(
            "nothing that can be repeated is before the '{'; "
            "write \\{ for the character");
      default:
        ++at_;
        return Literal(c);
    }
  }

  static Part Anchor(std::string text) {
    return {std::move(text), true, true, false, false};
  }

  Part EndAnchor() {
    translated_.has_end_anchor = true;
    return Anchor("\\z");
  }

  Part Dot() const {
    if (flags_.dot_all) return {"(?s:.)"};
    if (flags_.unix_lines) return {"[^\\n]"};
    return {"[^\\n\\r\\x{85}\\x{2028}\\x{2029}]"};
  }

  Part Literal(char32_t c) const {
    ClassText text;
    if (flags_.ignore_case && IsAsciiLetter(c)) {
      text.Add(WithBothCases({c, c}));
      return {"[" + text.text + "]"};
    }
    if (IsAsciiLetter(c) || IsAsciiDigit(c)) {
      return {std::string(1, static_cast<char>(c))};
    }
    text.Add({{c, c}});
    return {text.text};
  }

  static Part OneOf(const CodeRanges& ranges) {
    ClassText text;
    text.Add(ranges);
    return {"[" + text.text + "]"};
  }

  absl::Status ParseQuantifier(Part& atom) {
    const char32_t c = Peek();
    int most = -1;  // without a limit
    int least = 0;
    std::string text;
    if (c == '*' || c == '+' || c == '?') {
      ++at_;
      text = static_cast<char>(c);
      if (c == '+') least = 1;
      if (c == '?') most = 1;
    } else if (c == '{') {
      WALPOST_RETURN_IF_ERROR(ParseCounts(least, most));
      text = most == least ? fmt::format("{{{}}}", least)
             : most < 0    ? fmt::format("{{{},}}", least)
                           : fmt::format("{{{},{}}}", least, most);
    } else {
      return absl::OkStatus();
    }
    if (Peek() == '+') {
      return Refuse("a possessive quantifier (a second '+')",
                    "leave out the '+', if the rest of the pattern matches "
                    "the same without it");
    }
    if (Peek() == '?') {
      ++at_;
      text += '?';
    }
    if (atom.is_anchor) {
      return Refuse("a repeated anchor", "leave out its quantifier");
    }
    if (atom.can_be_empty && most != 0 && most != 1) {
      return Refuse("a repetition of what can be empty",
                    "write it so that each repetition has a character, such "
                    "as (a+)* for (a*)*");
    }
    // Java forgets what such a group had last.
    if (atom.has_repeated_group && most != 0 && most != 1) {
      return Refuse("a repeated group within a repetition",
                    "write (?: for the inner group");
    }
    atom.has_repeated_group |= atom.has_group && most != 1;
    atom.text += text;
    atom.can_be_empty |= least == 0;
    return absl::OkStatus();
  }

  absl::Status ParseCounts(int& least, int& most) {
    const auto number = [this]() -> std::optional<int> {
      if (!IsAsciiDigit(Peek())) return std::nullopt;
      int value = 0;
      while (IsAsciiDigit(Peek())) {
        value = std::min(value * 10 + static_cast<int>(points_[at_++] - '0'),
                         100'000);
      }
      return value;
    };
    ++at_;
    const auto first = number();
    if (!first) return Error("a number is missing after the '{'");
    least = most = *first;
    if (Take(U",")) most = number().value_or(-1);
    if (!Take(U"}")) return Error("a '{' without its '}'");
    if (most >= 0 && most < least) {
      return Error("a range of repetitions with the larger number first");
    }
    if (std::max(least, most) > kMaxRepetitions) {
      return Error(fmt::format("more than {} repetitions", kMaxRepetitions));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Part> ParseGroup(int depth) {
    const Flags before = flags_;
    ++at_;
    bool is_captured = false;
    if (!Take(U"?")) {
      is_captured = true;
    } else if (Peek() == '=' || Peek() == '!') {
      return Refuse("look-ahead (?= or (?!", kWriteOut);
    } else if (Take(U"<")) {
      if (Peek() == '=' || Peek() == '!') {
        return Refuse("look-behind (?<= or (?<!", kWriteOut);
      }
      WALPOST_RETURN_IF_ERROR(ParseGroupName());
      is_captured = true;
    } else if (Peek() == '>') {
      return Refuse("an atomic group (?>",
                    "write (?:, if the rest of the pattern matches the same");
    } else {
      WALPOST_RETURN_IF_ERROR(ParseFlags());
      // (?i) is for the rest of the group that it is in.
      if (Take(U")")) return Part{"", true, true};
      if (!Take(U":")) return Error("a '(?' without its ':' or ')'");
    }
    if (is_captured) ++translated_.groups;
    WALPOST_ASSIGN_OR_RETURN(Part inner, ParseAlternatives(depth + 1));
    if (!Take(U")")) return Error("a '(' without its ')'");
    flags_ = before;
    inner.text = (is_captured ? "(" : "(?:") + inner.text + ")";
    inner.has_group |= is_captured;
    inner.is_anchor = false;
    return inner;
  }

  absl::Status ParseGroupName() {
    std::string name;
    while (IsAsciiLetter(Peek()) || (!name.empty() && IsAsciiDigit(Peek()))) {
      name += static_cast<char>(points_[at_++]);
    }
    if (name.empty() || !Take(U">")) {
      return Error(
          "the name of a group is letters and digits, as in "
          "(?<name>...)");
    }
    if (std::ranges::count(translated_.names, name,
                           &std::pair<std::string, int>::first) > 0) {
      return Error(fmt::format("two groups with the name '{}'", name));
    }
    translated_.names.emplace_back(name, translated_.groups + 1);
    return absl::OkStatus();
  }

  absl::Status ParseFlags() {
    bool is_on = true;
    for (;; ++at_) {
      switch (Peek()) {
        case '-':
          is_on = false;
          continue;
        case 'i':
          flags_.ignore_case = is_on;
          continue;
        case 's':
          flags_.dot_all = is_on;
          continue;
        case 'd':
          flags_.unix_lines = is_on;
          continue;
        case 'm':
        case 'u':
        case 'x':
        case 'U':
          return Refuse(fmt::format("the flag {}", static_cast<char>(Peek())),
                        "write the pattern without it");
        default:
          return absl::OkStatus();
      }
    }
  }

  absl::StatusOr<Part> ParseEscape() {
    ClassText text;
    WALPOST_ASSIGN_OR_RETURN(const bool is_class, ParseClassEscape(text));
    if (is_class) return Part{"[" + text.text + "]"};
    switch (Peek(1)) {
      case 'A':
        at_ += 2;
        return Anchor("\\A");
      case 'z':
        at_ += 2;
        return Anchor("\\z");
      case 'Z':
        at_ += 2;
        return EndAnchor();
      case 'b':
      case 'B':
        return Refuse("\\b and \\B, which depend on the release of Java,",
                      "write the characters that stand there");
      case 'G':
      case 'R':
      case 'X':
      case 'N':
        return Refuse(fmt::format("\\{}", static_cast<char>(Peek(1))),
                      "write the characters that it stands for");
      case 'k':
        return Refuse("a back reference", kWriteOut);
      default:
        if (Peek(1) >= '1' && Peek(1) <= '9') {
          return Refuse("a back reference", kWriteOut);
        }
        break;
    }
    WALPOST_ASSIGN_OR_RETURN(const char32_t c, ParseCharacterEscape());
    return Literal(c);
  }

  // \d, \p{L} and so on: adds its characters to `text`. False: it is another
  // escape, and is still to be read.
  absl::StatusOr<bool> ParseClassEscape(ClassText& text) {
    const auto add = [&](const CodeRanges& ranges, bool is_negated) {
      at_ += 2;
      text.Add(is_negated ? Others(ranges) : ranges);
      return true;
    };
    switch (Peek(1)) {
      case 'd':
      case 'D':
        return add(kDigits, Peek(1) == 'D');
      case 'w':
      case 'W':
        return add(kWord, Peek(1) == 'W');
      case 's':
      case 'S':
        return add(kJavaSpace, Peek(1) == 'S');
      case 'h':
      case 'H':
        return add(kHorizontalSpace, Peek(1) == 'H');
      case 'v':
      case 'V':
        return add(kVerticalSpace, Peek(1) == 'V');
      case 'p':
      case 'P':
        WALPOST_RETURN_IF_ERROR(ParseProperty(text));
        return true;
      default:
        return false;
    }
  }

  absl::Status ParseProperty(ClassText& text) {
    const bool is_negated = Peek(1) == 'P';
    at_ += 2;
    std::string name;
    if (Take(U"{")) {
      while (Peek() != '}') {
        if (Peek() >= 0x80) return Error("a '\\p{' without its '}'");
        name += static_cast<char>(points_[at_++]);
      }
      ++at_;
    } else if (Peek() < 0x80) {
      name = static_cast<char>(points_[at_++]);
    }
    const auto unknown = [&] {
      return Refuse(fmt::format("\\p{{{}}}", name),
                    "use a category such as \\p{L}, a script such as "
                    "\\p{IsGreek}, or the characters themselves");
    };
    const auto check_case = [&](bool has_case) {
      return has_case && flags_.ignore_case
                 ? Refuse(
                       fmt::format("\\p{{{}}} with the flag i, which depends "
                                   "on the release of Java,",
                                   name),
                       "use \\p{Alpha} or \\p{L}")
                 : absl::OkStatus();
    };
    for (const NamedRanges& named : kNamedRanges) {
      if (named.name != name) continue;
      text.Add(is_negated ? Others(named.ranges) : named.ranges);
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
      text.text += fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', category);
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
    text.text += fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', titled);
    return absl::OkStatus();
  }

  // One character that is written as an escape.
  absl::StatusOr<char32_t> ParseCharacterEscape() {
    const char32_t c = Peek(1);
    if (c == kPatternEnd) return Error("a '\\' at the end");
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
        return ParseOctal();
      case 'x':
        if (Take(U"{")) {
          WALPOST_ASSIGN_OR_RETURN(const char32_t point, ParseHex(1, 6));
          if (!Take(U"}")) return Error("a '\\x{' without its '}'");
          return Checked(point);
        }
        return ParseHex(2, 2);
      case 'u': {
        WALPOST_ASSIGN_OR_RETURN(char32_t point, ParseHex(4, 4));
        if (point >= 0xD800 && point < 0xDC00 && Take(U"\\u")) {
          WALPOST_ASSIGN_OR_RETURN(const char32_t low, ParseHex(4, 4));
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

  absl::StatusOr<char32_t> Checked(char32_t point) const {
    if (point <= kMaxCodePoint && (point < 0xD800 || point > 0xDFFF)) {
      return point;
    }
    return Error("this is not a character");
  }

  absl::StatusOr<char32_t> ParseOctal() {
    const auto is_octal = [this] { return Peek() >= '0' && Peek() <= '7'; };
    if (!is_octal()) return Error("an octal digit is missing after \\0");
    char32_t value = points_[at_++] - '0';
    const int more = value <= 3 ? 2 : 1;
    for (int i = 0; i < more && is_octal(); ++i) {
      value = value * 8 + (points_[at_++] - '0');
    }
    return value;
  }

  absl::StatusOr<char32_t> ParseHex(int least, int most) {
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

  absl::StatusOr<Part> ParseClass() {
    ++at_;
    const bool is_negated = Take(U"^");
    ClassText text;
    bool is_quoted = false;
    for (;;) {
      if (Peek() == kPatternEnd) return Error("a '[' without its ']'");
      if (is_quoted && Take(U"\\E")) {
        is_quoted = false;
        continue;
      }
      if (!is_quoted && Take(U"\\Q")) {
        is_quoted = true;
        continue;
      }
      if (!is_quoted) {
        if (Peek() == ']') {
          if (text.text.empty())
            return Error(
                "a class without a character; "
                "write \\] for the character");
          ++at_;
          break;
        }
        if (Peek() == '[') {
          return Refuse("a class within a class",
                        "write one class, or \\[ for the character");
        }
        if (Peek() == '&' && Peek(1) == '&') {
          return Refuse("an intersection of classes (&&)",
                        "write the characters of both");
        }
        if (Peek() == '\\') {
          WALPOST_ASSIGN_OR_RETURN(const bool is_class, ParseClassEscape(text));
          if (is_class) continue;
        }
      }
      WALPOST_ASSIGN_OR_RETURN(const char32_t first, ClassCharacter(is_quoted));
      char32_t last = first;
      if (!is_quoted && Peek() == '-' && Peek(1) != ']') {
        ++at_;
        if (Peek() == '[' || (Peek() == '\\' && IsClassEscape(Peek(1)))) {
          return Error("a '-' before a class; write \\- for the character");
        }
        if (Peek() == kPatternEnd) return Error("a '[' without its ']'");
        WALPOST_ASSIGN_OR_RETURN(last, ClassCharacter(is_quoted));
        if (last < first) return Error("a range with the larger end first");
      }
      text.Add(flags_.ignore_case ? WithBothCases({first, last})
                                  : CodeRanges{{first, last}});
    }
    return Part{(is_negated ? "[^" : "[") + text.text + "]"};
  }

  static bool IsClassEscape(char32_t c) {
    return std::u32string_view(U"dDwWsShHvVpPQ").find(c) !=
           std::u32string_view::npos;
  }

  absl::StatusOr<char32_t> ClassCharacter(bool is_quoted) {
    if (is_quoted || Peek() != '\\') return points_[at_++];
    return ParseCharacterEscape();
  }

  static constexpr char kWriteOut[] =
      "write the pattern without it, in alternatives if need be";

  std::u32string points_;
  size_t at_ = 0;
  bool quoted_ = false;  // between \Q and \E
  Flags flags_;
  TranslatedPattern translated_;
};

}  // namespace

absl::StatusOr<TranslatedPattern> TranslateJavaPattern(std::string_view pattern,
                                                       bool ignore_case) {
  if (pattern.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(
        fmt::format("it is longer than {} bytes", kMaxPatternBytes));
  }
  if (!IsUtf8(pattern)) return absl::InvalidArgumentError("it is not UTF-8");
  return JavaPatternParser(pattern, ignore_case).Parse();
}

}  // namespace walpost
