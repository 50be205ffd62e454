#include "outbox/dead_letter_topic.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/fields.h"

namespace walpost {

absl::StatusOr<TopicTemplate> ParseDeadLetterTopic(std::string_view text,
                                                   NameRule names) {
  WALPOST_ASSIGN_OR_RETURN(TopicTemplate topic,
                           TopicTemplate::Parse(text, names));
  for (const std::string& name : topic.references()) {
    if (FindField(name) < kFields.size() || name == kErrorClassName ||
        name == kSourceName) {
      continue;
    }
    return absl::InvalidArgumentError(
        fmt::format("topic template '{}': '{}' is not a field of an event, nor "
                    "{} or {}",
                    text, name, kErrorClassName, kSourceName));
  }
  return topic;
}

}  // namespace walpost
