#include "app/process/diverted_event_log.h"

#include <string>

#include "base/reason_code.h"
#include "log/log.h"

namespace walpost {
void LogDivertedEvent(const DivertedEvent& event) {
  const std::string error_class = ReasonCodeOf(event.reason);
  const uint8_t index = ErrorClassOf(event.reason);
  std::string text(event.reason.message());
  const std::string_view remedy =
      index < kErrorClasses.size() ? kErrorClasses[index].remedy : "";
  if (text.find(remedy) == std::string::npos)
    text += "; " + std::string(remedy);
  const bool has_position = event.position.commit_lsn.is_valid();
  const std::string position =
      has_position ? ToString(event.position) : std::string();
  LogWarn({{"reason_code", error_class},
           {"table", event.table},
           {"position", position},
           {"event_id", event.event_id}},
          "event {}{}{}{}{} is {} [{}]: {}", event.event_id,
          has_position ? " at " : "", position,
          event.table.empty() ? "" : " of table ", event.table,
          InfoOf(event.action).outcome, error_class, text);
}

}  // namespace walpost
