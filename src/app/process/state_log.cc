#include "app/process/state_log.h"

#include <chrono>
#include <string>
#include <utility>

#include "fmt/ranges.h"
#include "log/log.h"
#include "log/repeated_line.h"

namespace walpost {
namespace {

LogLevel LevelOf(RelayState state) {
  switch (state) {
    case RelayState::kStuck:
      return LogLevel::kError;
    case RelayState::kAtRisk:  // published, but not for long, or not all
    case RelayState::kDegraded:
    case RelayState::kPaused:
      return LogLevel::kWarn;
    default:
      return LogLevel::kInfo;
  }
}

void Write(const Diagnosis& diagnosis, const RelaySigns& signs) {
  const BlockedEvent event = signs.stoppage.value_or(BlockedEvent());
  const bool is_at_event =
      diagnosis.state == RelayState::kStuck && signs.stoppage;
  const std::string position = is_at_event && event.is_in_stream()
                                   ? ToString(event.position)
                                   : std::string();
  const std::string_view state = ToString(diagnosis.state);
  const std::string text = diagnosis.reason.empty()
                               ? std::string(state)
                               : fmt::format("{}: {}", state, diagnosis.reason);
  const std::string causes =
      fmt::format("{}", fmt::join(diagnosis.causes, ","));
  WriteLogLine(LevelOf(diagnosis.state), text, state,
               {{"reason_code", diagnosis.code},
                {"causes", causes},
                {"table", is_at_event ? event.table : ""},
                {"topic", signs.unknown_topic},
                {"position", position},
                {"event_id", is_at_event ? event.event_id : ""},
                {"key", is_at_event ? event.key : ""}});
}

}  // namespace

void StateLog::Update(const RelaySigns& signs, MonotonicTime now) {
  Diagnosis diagnosis = Diagnose(signs);
  const bool is_another = diagnosis.state != diagnosis_.state;
  const bool says_another =
      WithoutDigits(diagnosis.reason) != WithoutDigits(diagnosis_.reason);
  if (is_another) since_ = now;
  const bool is_stuck = diagnosis.state == RelayState::kStuck;
  if (is_another || (is_stuck && says_another)) Write(diagnosis, signs);
  diagnosis_ = std::move(diagnosis);
}

void StateLog::Report(MonotonicTime now, RelayStatus& status) const {
  status.state = diagnosis_.state;
  status.reason = diagnosis_.reason;
  status.reason_code = diagnosis_.code;
  status.causes = diagnosis_.causes;
  status.in_state_for =
      std::chrono::duration_cast<std::chrono::seconds>(now - since_);
}

}  // namespace walpost
