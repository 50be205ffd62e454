// DivertedEvent: an event that did not become a record of its topic, by the
// operator's choice.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/utf8.h"
#include "delivery/error_actions.h"
#include "outbox/position.h"

namespace walpost {

// An event's id for messages: cut, and valid UTF-8.
inline std::string IdForMessages(std::string_view id) {
  constexpr size_t kMaxLength = 200;  // bytes
  return ValidUtf8(id, kMaxLength);
}

struct DivertedEvent {
  ErrorAction action = ErrorAction::kSkip;
  Position position;
  std::string event_id;  // empty: not known
  absl::Status reason;   // with its reason code
  // schema.table of the outbox; empty: it is a logical message.
  std::string table = {};
};

// Called when the event is set aside, and again if the stream repeats it before
// it is confirmed.
using DivertedEventListener = std::function<void(const DivertedEvent&)>;

}  // namespace walpost
