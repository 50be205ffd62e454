// TopicTemplate: the text that makes a topic name from an event.
//
//   outbox.event.{aggregate_type}
//   {event_type|lower|replace:_:-}
//   {event_type|default:other}
//
// {name} is a field of the event or a column of the table. Functions apply
// from left to right: `lower` (ASCII), `replace:FROM:TO` (every occurrence;
// TO may be empty), `default:TEXT` (for a value that is NULL or empty). In
// braces, \ takes the meaning from a following { } | : or \, as in
// {type|replace:\::-}.
//
// The result must match Kafka's rule for topic names: 1 to 249 of
// [a-zA-Z0-9._-], not "." or "..".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/event.h"

namespace walpost {

class TopicTemplate {
 public:
  // kInvalidArgument quotes the template and says what is wrong.
  static absl::StatusOr<TopicTemplate> Parse(std::string_view text);

  // The names in braces, each once, in order of appearance.
  const std::vector<std::string>& references() const { return references_; }

  // Writes the topic into `topic`; `values` are the event's values of
  // references(). kInvalidArgument: a value without a default is NULL or empty,
  // or Kafka would reject the name.
  absl::Status Expand(std::span<const Value> values, std::string& topic) const;

  const std::string& text() const { return text_; }

  // True if events with different values of `name` never share a topic.
  bool Separates(std::string_view name) const;

  // Common prefix of all topics: the text before the first value.
  const std::string& prefix() const { return parts_.front().literal; }

 private:
  struct Function {
    enum class Kind { kLower, kReplace, kDefault };
    Kind kind;
    std::string from;
    std::string to;  // of kDefault: the text
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
  static void Apply(const Function& function, std::string& text, size_t from);

  std::string text_;
  std::vector<std::string> references_;
  std::vector<Part> parts_;
};

// kInvalidArgument quotes the name and gives Kafka's rule.
absl::Status ValidateTopicName(std::string_view topic);

}  // namespace walpost
