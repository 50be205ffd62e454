#include "import/captured_tables.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/java_pattern.h"

namespace walpost {
namespace {

constexpr size_t kMaxAlternatives = 100;

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

// The patterns that (a|b) stands for, without groups.
absl::StatusOr<std::vector<std::string>> Alternatives(
    const std::string& pattern) {
  std::vector<std::string> open = {pattern};
  std::vector<std::string> done;
  while (!open.empty()) {
    const std::string one = open.back();
    open.pop_back();
    if (open.size() + done.size() > kMaxAlternatives) {
      return absl::InvalidArgumentError("it has too many alternatives");
    }
    const size_t close = one.find(')');
    const size_t begin = one.rfind('(', close);
    if (close == std::string::npos || begin == std::string::npos) {
      if (one.find('|') == std::string::npos) {
        done.push_back(one);
        continue;
      }
      for (size_t at = 0; at <= one.size();) {
        const size_t end = std::min(one.find('|', at), one.size());
        open.push_back(one.substr(at, end - at));
        at = end + 1;
      }
      continue;
    }
    std::string inner = one.substr(begin + 1, close - begin - 1);
    if (inner.starts_with("?:")) inner.erase(0, 2);
    for (size_t at = 0; at <= inner.size();) {
      const size_t end = std::min(inner.find('|', at), inner.size());
      open.push_back(one.substr(0, begin) + inner.substr(at, end - at) +
                     one.substr(close + 1));
      at = end + 1;
    }
  }
  std::ranges::reverse(done);
  return done;
}

}  // namespace

std::vector<std::string> SplitPatternList(std::string_view list) {
  std::vector<std::string> patterns(1);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size()) {
      if (list[i + 1] != ',') patterns.back() += list[i];
      patterns.back() += list[++i];
    } else if (list[i] == ',') {
      patterns.emplace_back();
    } else {
      patterns.back() += list[i];
    }
  }
  for (std::string& pattern : patterns) absl::StripAsciiWhitespace(&pattern);
  std::erase(patterns, "");
  return patterns;
}

absl::StatusOr<std::vector<std::string>> TablesOfPattern(
    const std::string& pattern) {
  const auto unknown = [&] {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' has no counterpart in outbox.tables[].name, where * stands for "
        "any characters of one identifier: name its tables with --table "
        "SCHEMA.TABLE",
        pattern));
  };
  std::string plain = pattern;
  if (plain.starts_with('^')) plain.erase(0, 1);
  if (plain.ends_with('$') && !plain.ends_with("\\$")) plain.pop_back();
  WALPOST_ASSIGN_OR_RETURN(const std::vector<std::string> alternatives,
                           Alternatives(plain));
  std::vector<std::string> names;
  for (const std::string& one : alternatives) {
    std::string name;
    int dots = 0;
    for (size_t i = 0; i < one.size(); ++i) {
      const char c = one[i];
      const char next = i + 1 < one.size() ? one[i + 1] : '\0';
      if (c == '\\' && next != '\0' && !IsNameCharacter(next)) {
        // A quantifier behind it would be of a pattern.
        name += next;
        if (next == '*') name.insert(name.size() - 1, 1, '\\');
        dots += next == '.' ? 1 : 0;
        ++i;
      } else if (c == '.' && next == '*') {
        name += '*';
        ++i;
      } else if (c == '.') {
        // schema.table has a dot in one place alone.
        name += '.';
        ++dots;
      } else if (IsNameCharacter(c) || c == '-' || c == ' ') {
        name += c;
      } else {
        return unknown();
      }
    }
    if (dots != 1 || name.starts_with('.') || name.ends_with('.')) {
      return unknown();
    }
    // A . that is meant for any character: a.b.* would match a.b_1.
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

absl::StatusOr<bool> AnyMatches(const std::vector<std::string>& patterns,
                                std::string_view name) {
  for (const std::string& pattern : patterns) {
    WALPOST_ASSIGN_OR_RETURN(
        const JavaPattern one,
        JavaPattern::Create(pattern, "", JavaPattern::Case::kInsensitive));
    if (one.Matches(name)) return true;
  }
  return false;
}

}  // namespace walpost
