#include "outbox/java_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "outbox/java_syntax.h"

namespace walpost {
namespace {

constexpr int kMaxPatternGroups = 31;

constexpr std::string_view kJavaLineTerminators[] = {
    "\n", "\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};

bool EndsWithLineTerminator(std::string_view text) {
  return std::ranges::any_of(
      kJavaLineTerminators,
      [text](std::string_view one) { return text.ends_with(one); });
}

re2::StringPiece StringPieceOf(std::string_view text) {
  return {text.data(), text.size()};
}

// A reference to a group in a replacement: $1, ${name}. `at` is behind the $.
absl::StatusOr<int> ReadGroup(std::string_view text,
                              const TranslatedPattern& pattern, size_t& at) {
  if (text.substr(at).starts_with('{')) {
    const size_t end = text.find('}', at);
    const std::string_view name =
        text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    if (end == std::string_view::npos) {
      return absl::InvalidArgumentError("a '${' without its '}'");
    }
    at = end + 1;
    for (const auto& [known, group] : pattern.names) {
      if (known == name) return group;
    }
    return absl::InvalidArgumentError(
        fmt::format("the pattern has no group (?<{}>...)", name));
  }
  if (at == text.size() ||
      !absl::ascii_isdigit(static_cast<unsigned char>(text[at]))) {
    return absl::InvalidArgumentError(
        "a '$' without the number or {name} of a group; write \\$ for the "
        "character");
  }
  int group = text[at++] - '0';
  if (group > pattern.groups) {
    return absl::InvalidArgumentError(fmt::format(
        "the pattern has no group {}, but {}", group, pattern.groups));
  }
  // As many digits as make the number of a group.
  while (at < text.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[at])) &&
         group * 10 + (text[at] - '0') <= pattern.groups) {
    group = group * 10 + (text[at++] - '0');
  }
  return group;
}

}  // namespace

absl::StatusOr<JavaPattern> JavaPattern::Create(std::string_view pattern,
                                                std::string_view replacement,
                                                Case letters) {
  const auto error = [](std::string_view what, std::string_view text,
                        std::string_view reason) {
    return absl::InvalidArgumentError(
        fmt::format("{} '{}': {}", what, text, reason));
  };
  const auto translated =
      TranslateJavaPattern(pattern, letters == Case::kInsensitive);
  if (!translated.ok()) {
    return error("pattern", pattern,
                 std::string(translated.status().message()));
  }
  if (translated->groups > kMaxPatternGroups) {
    return error("pattern", pattern,
                 fmt::format("more than {} groups", kMaxPatternGroups));
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  const auto compiled =
      std::make_shared<re2::RE2>(StringPieceOf(translated->re2), options);
  if (!compiled->ok()) {
    return error("pattern", pattern,
                 fmt::format("it cannot be matched as Java does ({} {}); use a "
                             "simpler one",
                             compiled->error(), compiled->error_arg()));
  }

  JavaPattern made;
  made.pattern_ = pattern;
  made.compiled_ = compiled;
  made.has_end_anchor_ = translated->has_end_anchor;
  std::string literal;
  for (size_t at = 0; at < replacement.size();) {
    const char c = replacement[at++];
    if (c == '\\') {
      if (at == replacement.size()) {
        return error("replacement", replacement, "a '\\' at the end");
      }
      literal += replacement[at++];
    } else if (c == '$') {
      const auto group = ReadGroup(replacement, *translated, at);
      if (!group.ok()) {
        return error("replacement", replacement,
                     std::string(group.status().message()));
      }
      made.replacement_.push_back({std::move(literal), *group});
      literal.clear();
    } else {
      literal += c;
    }
  }
  made.replacement_.push_back({std::move(literal), -1});
  return made;
}

bool JavaPattern::Matches(std::string_view value) const {
  return compiled_->Match(StringPieceOf(value), 0, value.size(),
                          re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

absl::Status JavaPattern::ReplaceFirst(std::string& text, size_t from) const {
  const std::string value = text.substr(from);
  if (has_end_anchor_ && EndsWithLineTerminator(value)) {
    return absl::InvalidArgumentError(fmt::format(
        "it ends with a line terminator, and '{}' has a $ or \\Z", pattern_));
  }
  if (!Matches(value)) return absl::OkStatus();
  std::array<re2::StringPiece, kMaxPatternGroups + 1> groups;
  const int wanted = compiled_->NumberOfCapturingGroups() + 1;
  if (!compiled_->Match(StringPieceOf(value), 0, value.size(),
                        re2::RE2::UNANCHORED, groups.data(), wanted)) {
    return absl::InternalError("a value that matches has no match");
  }
  const re2::StringPiece& match = groups[0];
  const auto start = static_cast<size_t>(match.data() - value.data());
  text.resize(from + start);
  for (const auto& [literal, group] : replacement_) {
    text.append(literal);
    if (group >= 0) {
      const re2::StringPiece& its = groups[static_cast<size_t>(group)];
      text.append(its.data() == nullptr ? "" : its.data(), its.size());
    }
  }
  text.append(value, start + match.size());
  return absl::OkStatus();
}

}  // namespace walpost
