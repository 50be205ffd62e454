#include "delivery/error_actions.h"

#include <algorithm>

namespace walpost {

std::string_view ToString(ErrorAction action) {
  switch (action) {
    case ErrorAction::kStop:
      return "stop";
    case ErrorAction::kDeadLetter:
      return "dead_letter";
    case ErrorAction::kPark:
      return "park";
    case ErrorAction::kSkip:
      return "skip";
  }
  return "stop";
}

uint8_t ErrorClassOf(const absl::Status& reason) {
  return static_cast<uint8_t>(FindErrorClass(ReasonCodeOf(reason)));
}

ErrorAction ErrorActions::For(const absl::Status& reason) const {
  if (!absl::IsInvalidArgument(reason)) return ErrorAction::kStop;
  const size_t error_class = ErrorClassOf(reason);
  return error_class < actions_.size() ? actions_[error_class]
                                       : ErrorAction::kStop;
}

ErrorActions ErrorActions::WithoutParking() const {
  ErrorActions actions = *this;
  std::ranges::replace(actions.actions_, ErrorAction::kPark,
                       ErrorAction::kStop);
  return actions;
}

bool ErrorActions::Uses(ErrorAction action) const {
  return std::ranges::find(actions_, action) != actions_.end();
}

}  // namespace walpost
