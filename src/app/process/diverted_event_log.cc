#include "app/process/diverted_event_log.h"

#include <string>

#include "base/reason_code.h"
#include "spdlog/spdlog.h"

namespace walpost {
namespace {

std::string_view WhatBecomes(ErrorAction action) {
  switch (action) {
    case ErrorAction::kStop:
      return "stopped";
    case ErrorAction::kDeadLetter:
      return "set aside as a dead letter";
    case ErrorAction::kPark:
      return "parked, and later events of its key wait behind it";
    case ErrorAction::kSkip:
      return "left out";
  }
  return "";
}

}  // namespace

void LogDivertedEvent(const DivertedEvent& event) {
  const std::string error_class = ReasonCodeOf(event.reason);
  const std::string_view what = WhatBecomes(event.action);
  const uint8_t index = ErrorClassOf(event.reason);
  std::string text(event.reason.message());
  const std::string_view remedy =
      index < kErrorClasses.size() ? kErrorClasses[index].remedy : "";
  if (text.find(remedy) == std::string::npos)
    text += "; " + std::string(remedy);
  const bool has_position = event.position.commit_lsn.is_valid();
  const std::string place =
      has_position ? " at " + ToString(event.position) : "";
  spdlog::warn("event {}{} is {} [{}]: {}", event.event_id, place, what,
               error_class, text);
}

}  // namespace walpost
