// SetAside: an event that did not become a record of its topic, by the
// operator's choice.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "delivery/error_actions.h"
#include "outbox/position.h"

namespace walpost {

struct SetAside {
  ErrorAction action = ErrorAction::kSkip;
  Position position;
  std::string event_id;  // empty: not known
  absl::Status reason;   // with its reason code
};

// Called at once; again if the event is repeated before it is confirmed.
using SetAsideListener = std::function<void(const SetAside&)>;

}  // namespace walpost
