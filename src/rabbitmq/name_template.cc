#include "rabbitmq/name_template.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

constexpr std::string_view kTopic = "topic";
constexpr size_t kMaxWord = 99;

// The words of `topic` from number `first` on, which counts from 1.
std::string_view WordsFrom(std::string_view topic, size_t first) {
  for (; first > 1; --first) {
    const size_t dot = topic.find('.');
    if (dot == std::string_view::npos) return {};
    topic.remove_prefix(dot + 1);
  }
  return topic;
}

}  // namespace

absl::StatusOr<NameTemplate::Part> NameTemplate::ParseReference(
    std::string_view name, std::string_view text) {
  Part part;
  part.has_value = true;
  if (name == kTopic) return part;
  if (name == "key") {
    part.source = Source::kKey;
    return part;
  }
  if (name == "type") {
    part.source = Source::kType;
    return part;
  }
  if (name.starts_with("topic.")) {
    name.remove_prefix(kTopic.size() + 1);
    part.source = name.ends_with('-') ? Source::kWordsFrom : Source::kWord;
    if (part.source == Source::kWordsFrom) name.remove_suffix(1);
    const std::string digits(name);
    const bool is_number = absl::SimpleAtoi(digits, &part.word);
    if (is_number && part.word >= 1 && part.word <= kMaxWord) return part;
  }
  return absl::InvalidArgumentError(fmt::format(
      "\"{}\": {{}} must have topic, topic.N, topic.N-, key or type", text));
}

absl::StatusOr<NameTemplate> NameTemplate::Parse(std::string_view text) {
  NameTemplate result;
  result.text_ = std::string(text);
  std::string_view rest = text;
  std::string literal;
  while (!rest.empty()) {
    const size_t open = rest.find_first_of("{}");
    literal = std::string(rest.substr(0, open));
    if (open == std::string_view::npos) break;
    const size_t close = rest.find('}', open);
    if (rest[open] == '}' || close == std::string_view::npos) {
      return absl::InvalidArgumentError(
          fmt::format("\"{}\": a brace has no other", text));
    }
    WALPOST_ASSIGN_OR_RETURN(
        Part part,
        ParseReference(rest.substr(open + 1, close - open - 1), text));
    part.literal = std::exchange(literal, "");
    result.parts_.push_back(std::move(part));
    rest.remove_prefix(close + 1);
  }
  if (!literal.empty()) result.parts_.push_back({.literal = literal});
  return result;
}

std::string NameTemplate::Expand(const Record& record) const {
  std::string name;
  for (const Part& part : parts_) {
    name += part.literal;
    if (!part.has_value) continue;
    switch (part.source) {
      case Source::kTopic:
        name += record.topic;
        break;
      case Source::kWord: {
        const std::string_view words = WordsFrom(record.topic, part.word);
        name += words.substr(0, words.find('.'));
        break;
      }
      case Source::kWordsFrom:
        name += WordsFrom(record.topic, part.word);
        break;
      case Source::kKey:
        name += record.key.value_or("");
        break;
      case Source::kType:
        name += record.type.value_or("");
        break;
    }
  }
  return name;
}

bool NameTemplate::is_fixed() const {
  return std::ranges::none_of(parts_, &Part::has_value);
}

}  // namespace walpost::rabbitmq
