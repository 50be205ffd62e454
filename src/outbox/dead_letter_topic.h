// The topic of dead letters, from the configuration.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "outbox/topic_template.h"

namespace walpost {

// Names that it may refer to, besides the fields of an event.
inline constexpr std::string_view kErrorClassName = "class";
inline constexpr std::string_view kSourceName = "source";

// kInvalidArgument: it does not parse, or refers to something else: columns
// are not known for every event.
absl::StatusOr<TopicTemplate> ParseDeadLetterTopic(std::string_view text,
                                                   NameRule names);

}  // namespace walpost
