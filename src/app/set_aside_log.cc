#include "app/set_aside_log.h"

#include <string>

#include "base/reason_code.h"
#include "spdlog/spdlog.h"

namespace walpost {

void LogSetAside(const SetAside& event) {
  const std::string error_class = ReasonCodeOf(event.reason);
  const std::string what = event.action == ErrorAction::kSkip
                               ? "left out"
                               : "sent to the dead-letter topic";
  const uint8_t index = ErrorClassOf(event.reason);
  const std::string_view remedy =
      index < kErrorClasses.size() ? kErrorClasses[index].remedy : "";
  spdlog::warn("event {} at {} is {} [{}]: {}; {}", event.event_id,
               ToString(event.position), what, error_class,
               std::string(event.reason.message()), remedy);
}

}  // namespace walpost
