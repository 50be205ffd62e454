// Formats an event as one line of JSON, for people: `walpost tail`.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "outbox/event.h"

namespace walpost {

// `topic` is its destination; if it cannot be delivered, `error` says why and
// topic is empty. A JSON payload stays JSON, other text is a string, other
// bytes are base64 under "payload_base64". No newline.
std::string EventJson(const Event& event, std::string_view topic,
                      const absl::Status& error);

}  // namespace walpost
