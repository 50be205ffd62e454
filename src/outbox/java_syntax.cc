#include "outbox/java_syntax.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "outbox/java_character_class.h"
#include "outbox/java_pattern_cursor.h"

namespace walpost {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
constexpr int kMaxPatternDepth = 50;
constexpr int kMaxRepetitions = 1000;  // RE2's own

// (?i), (?s), (?d)
struct PatternFlags {
  bool ignore_case = false;
  bool dot_all = false;
  bool unix_lines = false;
};

// A part of the pattern.
struct PatternPart {
  std::string text;  // to which a quantifier can be added
  bool can_be_empty = false;
  bool is_anchor = false;
  bool has_group = false;           // that is captured
  bool has_repeated_group = false;  // likewise
};

class JavaPatternParser {
 public:
  JavaPatternParser(std::string_view pattern, bool ignore_case)
      : cursor_(pattern) {
    flags_.ignore_case = ignore_case;
  }

  absl::StatusOr<TranslatedPattern> Parse() {
    WALPOST_ASSIGN_OR_RETURN(PatternPart all, ParseAlternatives(0));
    if (cursor_.Peek() != JavaPatternCursor::kEnd)
      return cursor_.Error("a ')' without its '('");
    translated_.re2 = std::move(all.text);
    return std::move(translated_);
  }

 private:
  absl::StatusOr<PatternPart> ParseAlternatives(int depth) {
    if (depth > kMaxPatternDepth) {
      return cursor_.Error(fmt::format("more than {} groups within each other",
                                       kMaxPatternDepth));
    }
    PatternPart all;
    for (bool is_first = true;; is_first = false) {
      WALPOST_ASSIGN_OR_RETURN(PatternPart one, ParseSequence(depth));
      if (!is_first) all.text += '|';
      all.text += one.text;
      all.can_be_empty |= one.can_be_empty;
      all.has_group |= one.has_group;
      all.has_repeated_group |= one.has_repeated_group;
      if (!cursor_.Take(U"|")) return all;
    }
  }

  absl::StatusOr<PatternPart> ParseSequence(int depth) {
    PatternPart sequence;
    sequence.can_be_empty = true;
    for (;;) {
      if (quoted_ && cursor_.Take(U"\\E")) {
        quoted_ = false;
        continue;
      }
      if (!quoted_ && cursor_.Take(U"\\Q")) {
        quoted_ = true;
        continue;
      }
      const char32_t c = cursor_.Peek();
      if (c == JavaPatternCursor::kEnd ||
          (!quoted_ && (c == '|' || c == ')'))) {
        return sequence;
      }
      WALPOST_ASSIGN_OR_RETURN(PatternPart atom, ParseAtom(depth));
      // The quantifier of the last quoted character is behind the \E.
      if (quoted_ && cursor_.Take(U"\\E")) quoted_ = false;
      if (!quoted_) WALPOST_RETURN_IF_ERROR(ParseQuantifier(atom));
      sequence.text += atom.text;
      sequence.can_be_empty &= atom.can_be_empty;
      sequence.has_group |= atom.has_group;
      sequence.has_repeated_group |= atom.has_repeated_group;
    }
  }

  absl::StatusOr<PatternPart> ParseAtom(int depth) {
    const char32_t c = cursor_.Peek();
    if (quoted_) {
      cursor_.Skip();
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
        cursor_.Skip();
        return Dot();
      case '^':
        cursor_.Skip();
        return Anchor("\\A");
      case '$':
        cursor_.Skip();
        return EndAnchor();
      case '*':
      case '+':
      case '?':
        return cursor_.Error(
            fmt::format("nothing is before the '{}'", static_cast<char>(c)));
      case '{':
        return cursor_.Error(
            "nothing that can be repeated is before the '{'; "
            "write \\{ for the character");
      default:
        cursor_.Skip();
        return Literal(c);
    }
  }

  static PatternPart Anchor(std::string text) {
    return {std::move(text), true, true, false, false};
  }

  PatternPart EndAnchor() {
    translated_.has_end_anchor = true;
    return Anchor("\\z");
  }

  PatternPart Dot() const {
    if (flags_.dot_all) return {"(?s:.)"};
    if (flags_.unix_lines) return {"[^\\n]"};
    return {"[^\\n\\r\\x{85}\\x{2028}\\x{2029}]"};
  }

  PatternPart Literal(char32_t c) const {
    if (flags_.ignore_case && IsAsciiLetter(c)) {
      return {"[" + JavaCharacterText(c, true) + "]"};
    }
    if (IsAsciiLetter(c) || IsAsciiDigit(c)) {
      return {std::string(1, static_cast<char>(c))};
    }
    return {JavaCharacterText(c, false)};
  }

  absl::Status ParseQuantifier(PatternPart& atom) {
    const char32_t c = cursor_.Peek();
    int most = -1;  // without a limit
    int least = 0;
    std::string text;
    if (c == '*' || c == '+' || c == '?') {
      cursor_.Skip();
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
    if (cursor_.Peek() == '+') {
      return cursor_.Refuse(
          "a possessive quantifier (a second '+')",
          "leave out the '+', if the rest of the pattern matches "
          "the same without it");
    }
    if (cursor_.Peek() == '?') {
      cursor_.Skip();
      text += '?';
    }
    if (atom.is_anchor) {
      return cursor_.Refuse("a repeated anchor", "leave out its quantifier");
    }
    if (atom.can_be_empty && most != 0 && most != 1) {
      return cursor_.Refuse(
          "a repetition of what can be empty",
          "write it so that each repetition has a character, such "
          "as (a+)* for (a*)*");
    }
    // Java forgets what such a group had last.
    if (atom.has_repeated_group && most != 0 && most != 1) {
      return cursor_.Refuse("a repeated group within a repetition",
                            "write (?: for the inner group");
    }
    atom.has_repeated_group |= atom.has_group && most != 1;
    atom.text += text;
    atom.can_be_empty |= least == 0;
    return absl::OkStatus();
  }

  absl::Status ParseCounts(int& least, int& most) {
    const auto number = [this]() -> std::optional<int> {
      if (!IsAsciiDigit(cursor_.Peek())) return std::nullopt;
      int value = 0;
      while (IsAsciiDigit(cursor_.Peek())) {
        value = std::min(value * 10 + static_cast<int>(cursor_.Next() - '0'),
                         100'000);
      }
      return value;
    };
    cursor_.Skip();
    const auto first = number();
    if (!first) return cursor_.Error("a number is missing after the '{'");
    least = most = *first;
    if (cursor_.Take(U",")) most = number().value_or(-1);
    if (!cursor_.Take(U"}")) return cursor_.Error("a '{' without its '}'");
    if (most >= 0 && most < least) {
      return cursor_.Error(
          "a range of repetitions with the larger number first");
    }
    if (std::max(least, most) > kMaxRepetitions) {
      return cursor_.Error(
          fmt::format("more than {} repetitions", kMaxRepetitions));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PatternPart> ParseGroup(int depth) {
    const PatternFlags before = flags_;
    cursor_.Skip();
    bool is_captured = false;
    if (!cursor_.Take(U"?")) {
      is_captured = true;
    } else if (cursor_.Peek() == '=' || cursor_.Peek() == '!') {
      return cursor_.Refuse("look-ahead (?= or (?!", kWriteOut);
    } else if (cursor_.Take(U"<")) {
      if (cursor_.Peek() == '=' || cursor_.Peek() == '!') {
        return cursor_.Refuse("look-behind (?<= or (?<!", kWriteOut);
      }
      WALPOST_RETURN_IF_ERROR(ParseGroupName());
      is_captured = true;
    } else if (cursor_.Peek() == '>') {
      return cursor_.Refuse(
          "an atomic group (?>",
          "write (?:, if the rest of the pattern matches the same");
    } else {
      WALPOST_RETURN_IF_ERROR(ParseFlags());
      // (?i) is for the rest of the group that it is in.
      if (cursor_.Take(U")")) return PatternPart{"", true, true};
      if (!cursor_.Take(U":"))
        return cursor_.Error("a '(?' without its ':' or ')'");
    }
    if (is_captured) ++translated_.groups;
    WALPOST_ASSIGN_OR_RETURN(PatternPart inner, ParseAlternatives(depth + 1));
    if (!cursor_.Take(U")")) return cursor_.Error("a '(' without its ')'");
    flags_ = before;
    inner.text = (is_captured ? "(" : "(?:") + inner.text + ")";
    inner.has_group |= is_captured;
    inner.is_anchor = false;
    return inner;
  }

  absl::Status ParseGroupName() {
    std::string name;
    while (IsAsciiLetter(cursor_.Peek()) ||
           (!name.empty() && IsAsciiDigit(cursor_.Peek()))) {
      name += static_cast<char>(cursor_.Next());
    }
    if (name.empty() || !cursor_.Take(U">")) {
      return cursor_.Error(
          "the name of a group is letters and digits, as in "
          "(?<name>...)");
    }
    if (std::ranges::count(translated_.names, name,
                           &std::pair<std::string, int>::first) > 0) {
      return cursor_.Error(fmt::format("two groups with the name '{}'", name));
    }
    translated_.names.emplace_back(name, translated_.groups + 1);
    return absl::OkStatus();
  }

  absl::Status ParseFlags() {
    bool is_on = true;
    for (;; cursor_.Skip()) {
      switch (cursor_.Peek()) {
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
          return cursor_.Refuse(
              fmt::format("the flag {}", static_cast<char>(cursor_.Peek())),
              "write the pattern without it");
        default:
          return absl::OkStatus();
      }
    }
  }

  absl::StatusOr<PatternPart> ParseEscape() {
    std::string text;
    WALPOST_ASSIGN_OR_RETURN(
        const bool is_class,
        ReadJavaClassEscape(cursor_, flags_.ignore_case, text));
    if (is_class) return PatternPart{"[" + text + "]"};
    switch (cursor_.Peek(1)) {
      case 'A':
        cursor_.Skip(2);
        return Anchor("\\A");
      case 'z':
        cursor_.Skip(2);
        return Anchor("\\z");
      case 'Z':
        cursor_.Skip(2);
        return EndAnchor();
      case 'b':
      case 'B':
        return cursor_.Refuse(
            "\\b and \\B, which depend on the release of Java,",
            "write the characters that stand there");
      case 'G':
      case 'R':
      case 'X':
      case 'N':
        return cursor_.Refuse(
            fmt::format("\\{}", static_cast<char>(cursor_.Peek(1))),
            "write the characters that it stands for");
      case 'k':
        return cursor_.Refuse("a back reference", kWriteOut);
      default:
        if (cursor_.Peek(1) >= '1' && cursor_.Peek(1) <= '9') {
          return cursor_.Refuse("a back reference", kWriteOut);
        }
        break;
    }
    WALPOST_ASSIGN_OR_RETURN(const char32_t c, cursor_.ReadEscape());
    return Literal(c);
  }

  absl::StatusOr<PatternPart> ParseClass() {
    WALPOST_ASSIGN_OR_RETURN(std::string text,
                             ReadJavaClass(cursor_, flags_.ignore_case));
    return PatternPart{std::move(text)};
  }

  static constexpr char kWriteOut[] =
      "write the pattern without it, in alternatives if need be";

  JavaPatternCursor cursor_;
  bool quoted_ = false;  // between \Q and \E
  PatternFlags flags_;
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
