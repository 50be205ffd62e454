// TopicTemplate: the text that makes a topic name from an event.
//
//   outbox.event.{aggregate_type}
//   {event_type|lower|replace:_:-}
//   {event_type|default:other}
//   {aggregate_type|match:(.*)\.(.*):$2.$1}
//
// {name} is a field of the event or a column of the table. Functions apply
// from left to right: `lower` (ASCII), `replace:FROM:TO` (every occurrence;
// TO may be empty), `default:TEXT` (for a value that is NULL or empty),
// `match:PATTERN:REPLACEMENT` (java_pattern.h), `allow_empty` (for a value that
// is empty, but not for NULL; so does `match`). A \ takes the meaning from a
// following { } | : or \, as in {type|replace:\::-}, or in the name
// \{outbox\}.{type}, where the sink has names with braces.
//
// The result must match Kafka's rule for topic names: 1 to 249 of
// [a-zA-Z0-9._-], not "." or ".."; for the other sinks, also `:` and `/` and
// what else no sink gives a meaning to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/event.h"
#include "outbox/java_pattern.h"

namespace walpost {

// Whose rule names follow.
enum class NameRule { kKafka, kOthers };

class TopicTemplate {
 public:
  // kInvalidArgument quotes the template and says what is wrong.
  static absl::StatusOr<TopicTemplate> Parse(std::string_view text,
                                             NameRule names = NameRule::kKafka);

  // The names in braces, each once, in order of appearance.
  const std::vector<std::string>& references() const { return references_; }

  // Writes the topic into `topic`; `values` are the event's values of
  // references(). kInvalidArgument: a value without a default is NULL, or it is
  // empty and no function allows that, or Kafka would reject the name.
  absl::Status Expand(std::span<const Value> values, std::string& topic) const;

  const std::string& text() const { return text_; }

  // True if events with different values of `name` never share a topic.
  bool Separates(std::string_view name) const;

  // Common prefix of all topics: the text before the first value.
  const std::string& prefix() const { return parts_.front().literal; }

 private:
  struct Function {
    enum class Kind { kLower, kReplace, kDefault, kMatch, kAllowEmpty };
    Kind kind;
    std::string from;
    std::string to;                      // of kDefault: the text
    std::optional<JavaPattern> pattern;  // of kMatch
  };
  struct Part {
    std::string literal;     // comes first
    bool has_value = false;  // then the value of references_[reference]
    size_t reference = 0;
    std::vector<Function> functions;
  };

  // A word between | or :, without its escapes.
  using Words = std::vector<std::string>;

  static absl::StatusOr<Function> ParseFunction(const Words& words,
                                                std::string_view text);
  absl::Status ParseReference(std::string_view text, Part& part);
  // Writes the value with its functions behind `topic`.
  absl::Status AppendValue(const Part& part, const Value& value,
                           std::string& topic) const;
  static absl::Status Apply(const Function& function, std::string& text,
                            size_t from);

  std::string text_;
  NameRule names_ = NameRule::kKafka;
  std::vector<std::string> references_;
  std::vector<Part> parts_;
};

// A text as it is written as a word of a function, in braces.
std::string EscapedInBraces(std::string_view text);

// kInvalidArgument quotes the name and gives the rule.
absl::Status ValidateTopicName(std::string_view topic,
                               NameRule names = NameRule::kKafka);

}  // namespace walpost
