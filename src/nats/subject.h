// Subjects of NATS: tokens between dots, "outbox.order.created". In a filter,
// the token `*` is any one token, and a `>` at the end is one or more.
//
// Pure.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace walpost {

// A longer one, with the rest of its line, exceeds the server's limit
// (max_control_line, 4,096 bytes).
inline constexpr size_t kMaxSubjectBytes = 3'500;

// kInvalidArgument, with kReasonTopicIllegal: nothing can be published there.
absl::Status CheckSubject(std::string_view subject);
// The same for a filter, which may have wildcards.
absl::Status CheckSubjectFilter(std::string_view filter);

bool SubjectMatches(std::string_view filter, std::string_view subject);

// True if some subject matches both.
bool FiltersOverlap(std::string_view a, std::string_view b);

}  // namespace walpost
