#include "outbox/topic_template.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr size_t kMaxTopicNameLength = 249;

using Characters = std::array<bool, 256>;

constexpr Characters CharactersOf(std::string_view more) {
  Characters legal = {};
  for (const std::string_view part :
       {std::string_view("abcdefghijklmnopqrstuvwxyz"
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789._-"),
        more}) {
    for (const char c : part) legal[static_cast<unsigned char>(c)] = true;
  }
  return legal;
}

constexpr Characters kOfKafka = CharactersOf("");
constexpr Characters kOfOthers = CharactersOf(":/@+=~$#%&!,;()[]{}");

bool AreLegal(std::string_view text, NameRule names) {
  const Characters& legal = names == NameRule::kKafka ? kOfKafka : kOfOthers;
  return std::ranges::all_of(
      text, [&](char c) { return legal[static_cast<unsigned char>(c)]; });
}

std::string_view ListOf(NameRule names) {
  return names == NameRule::kKafka ? "a-z A-Z 0-9 . _ -"
                                   : "a-z A-Z 0-9 . _ - : / and others, but "
                                     "no space, * > ? | \\ or quote";
}

constexpr std::string_view kSpecialInBraces = "{}|:\\";

bool IsEscape(std::string_view text, size_t at) {
  return text[at] == '\\' && at + 1 < text.size() &&
         kSpecialInBraces.find(text[at + 1]) != std::string_view::npos;
}

// The place of `wanted` that is not escaped; npos: there is none.
size_t FindPlain(std::string_view text, char wanted) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == wanted) return i;
    if (IsEscape(text, i)) ++i;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> SplitPlain(std::string_view text, char at) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t end = FindPlain(text, at);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsEscape(text, i)) ++i;
    plain += text[i];
  }
  return plain;
}

}  // namespace

std::string EscapedInBraces(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (kSpecialInBraces.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

absl::Status ValidateTopicName(std::string_view topic, NameRule names) {
  if (!topic.empty() && topic.size() <= kMaxTopicNameLength && topic != "." &&
      topic != ".." && AreLegal(topic, names)) {
    return absl::OkStatus();
  }
  return Undeliverable(
      kReasonTopicIllegal,
      fmt::format(
          "'{}' is not a topic name that {} (1 to {} of {}, not '.' or '..')",
          ValidUtf8(topic, 2 * kMaxTopicNameLength),
          names == NameRule::kKafka ? "Kafka accepts" : "may be used",
          kMaxTopicNameLength, ListOf(names)));
}

absl::StatusOr<TopicTemplate> TopicTemplate::Parse(std::string_view text,
                                                   NameRule names) {
  TopicTemplate parsed;
  parsed.names_ = names;
  parsed.text_ = text;
  const auto error = [&](std::string_view reason) {
    return absl::InvalidArgumentError(
        fmt::format("topic template '{}': {}", text, reason));
  };
  if (text.empty()) return error("it is empty");
  std::string_view rest = text;
  while (!rest.empty()) {
    Part part;
    const size_t open = FindPlain(rest, '{');
    const std::string_view literal = rest.substr(0, open);
    if (FindPlain(literal, '}') != std::string_view::npos) {
      return error("a '}' without its '{'");
    }
    part.literal = Unescaped(literal);
    if (!AreLegal(part.literal, names)) {
      return error(
          fmt::format("'{}' cannot be part of a topic name, which has {}",
                      part.literal, ListOf(names)));
    }
    if (open == std::string_view::npos) {
      rest = {};
    } else {
      size_t close = FindPlain(rest.substr(open), '}');
      if (close == std::string_view::npos) {
        return error("a '{' without its '}'");
      }
      close += open;
      const absl::Status status =
          parsed.ParseReference(rest.substr(open + 1, close - open - 1), part);
      if (!status.ok())
        return error(
            std::string_view(status.message().data(), status.message().size()));
      rest.remove_prefix(close + 1);
    }
    parsed.parts_.push_back(std::move(part));
  }
  return parsed;
}

absl::Status TopicTemplate::ParseReference(std::string_view text, Part& part) {
  const std::vector<std::string_view> words = SplitPlain(text, '|');
  const std::string name = Unescaped(words.front());
  if (name.empty()) return absl::InvalidArgumentError("a name is missing");
  for (size_t i = 1; i < words.size(); ++i) {
    Words parts;
    for (const std::string_view word : SplitPlain(words[i], ':')) {
      parts.push_back(Unescaped(word));
    }
    WALPOST_ASSIGN_OR_RETURN(Function function, ParseFunction(parts, words[i]));
    part.functions.push_back(std::move(function));
  }
  const auto found = std::ranges::find(references_, name);
  part.has_value = true;
  part.reference = static_cast<size_t>(found - references_.begin());
  if (found == references_.end()) references_.push_back(name);
  return absl::OkStatus();
}

absl::StatusOr<TopicTemplate::Function> TopicTemplate::ParseFunction(
    const Words& words, std::string_view text) {
  if (words.front() == "lower" && words.size() == 1) {
    return Function{Function::Kind::kLower, {}, {}, {}};
  }
  if (words.front() == "replace" && words.size() == 3 && !words[1].empty()) {
    return Function{Function::Kind::kReplace, words[1], words[2], {}};
  }
  if (words.front() == "default" && words.size() == 2 && !words[1].empty()) {
    return Function{Function::Kind::kDefault, {}, words[1], {}};
  }
  if (words.front() == "allow_empty" && words.size() == 1) {
    return Function{Function::Kind::kAllowEmpty, {}, {}, {}};
  }
  if (words.front() == "match" && words.size() == 3) {
    WALPOST_ASSIGN_OR_RETURN(JavaPattern pattern,
                             JavaPattern::Create(words[1], words[2]));
    return Function{Function::Kind::kMatch, {}, {}, std::move(pattern)};
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a function; there are lower, replace:FROM:TO, "
      "default:TEXT, match:PATTERN:REPLACEMENT and allow_empty; a \\ is "
      "before each {{ }} | : and \\ of their texts",
      text));
}

absl::Status TopicTemplate::Apply(const Function& function, std::string& text,
                                  size_t from) {
  switch (function.kind) {
    case Function::Kind::kLower:
      std::transform(text.begin() + static_cast<ptrdiff_t>(from), text.end(),
                     text.begin() + static_cast<ptrdiff_t>(from),
                     [](unsigned char c) { return absl::ascii_tolower(c); });
      return absl::OkStatus();
    case Function::Kind::kReplace:
      for (size_t at = text.find(function.from, from); at != std::string::npos;
           at = text.find(function.from, at + function.to.size())) {
        text.replace(at, function.from.size(), function.to);
      }
      return absl::OkStatus();
    case Function::Kind::kDefault:
      if (text.size() == from) text.append(function.to);
      return absl::OkStatus();
    case Function::Kind::kMatch:
      return function.pattern->ReplaceFirst(text, from);
    case Function::Kind::kAllowEmpty:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

// A function may make one topic of two values. So may a literal between two
// values: a.{x}{y}, with "1" and "23", or with "12" and "3".
bool TopicTemplate::Separates(std::string_view name) const {
  const auto has_value = [](const Part& part) { return part.has_value; };
  return std::ranges::count_if(parts_, has_value) == 1 &&
         std::ranges::any_of(parts_, [&](const Part& part) {
           return part.has_value && references_[part.reference] == name &&
                  std::ranges::all_of(part.functions, [](const Function& one) {
                    return one.kind == Function::Kind::kAllowEmpty;
                  });
         });
}

absl::Status TopicTemplate::AppendValue(const Part& part, const Value& value,
                                        std::string& topic) const {
  const size_t from = topic.size();
  topic.append(value.value_or(""));
  bool is_empty_allowed = value.has_value() && !value->empty();
  for (const Function& function : part.functions) {
    const bool takes_empty = function.kind == Function::Kind::kMatch ||
                             function.kind == Function::Kind::kAllowEmpty;
    // What a default has made of NULL is a value.
    if (takes_empty && !value.has_value() && topic.size() == from) continue;
    is_empty_allowed |= takes_empty;
    const absl::Status applied = Apply(function, topic, from);
    if (!applied.ok()) {
      return Undeliverable(
          kReasonTopicIllegal,
          fmt::format("'{}' gives no topic: {}", references_[part.reference],
                      std::string(applied.message())));
    }
  }
  if (topic.size() > from || is_empty_allowed) return absl::OkStatus();
  return Undeliverable(
      kReasonTopicFieldMissing,
      fmt::format("'{}' is {}, and the topic is made from it ({})",
                  references_[part.reference],
                  value.has_value() ? "empty" : "NULL", text_));
}

absl::Status TopicTemplate::Expand(std::span<const Value> values,
                                   std::string& topic) const {
  topic.clear();
  for (const Part& part : parts_) {
    topic.append(part.literal);
    if (!part.has_value) continue;
    WALPOST_RETURN_IF_ERROR(AppendValue(part, values[part.reference], topic));
  }
  return ValidateTopicName(topic, names_);
}

}  // namespace walpost
