// NameTemplate: the text that makes the name of an exchange, or a routing key,
// from a record.
//
//   {topic}      orders.eu.created
//   {topic.1}    orders            its first word, between dots
//   {topic.2-}   eu.created        from its second word on
//   {key}        the record's key; empty if there is none
//   {type}       the event's type; empty if there is none
//
// A value that is a template; pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/record.h"

namespace walpost::rabbitmq {

class NameTemplate {
 public:
  // kInvalidArgument quotes the template and says what is wrong.
  static absl::StatusOr<NameTemplate> Parse(std::string_view text);

  std::string Expand(const Record& record) const;

  // True if every record has the same name.
  bool is_fixed() const;
  const std::string& text() const { return text_; }

 private:
  enum class Source { kTopic, kWord, kWordsFrom, kKey, kType };
  struct Part {
    std::string literal;  // comes first
    bool has_value = false;
    Source source = Source::kTopic;
    size_t word = 0;  // from 1
  };

  static absl::StatusOr<Part> ParseReference(std::string_view name,
                                             std::string_view text);

  std::string text_;
  std::vector<Part> parts_;
};

}  // namespace walpost::rabbitmq
