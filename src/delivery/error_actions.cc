#include "delivery/error_actions.h"

#include <algorithm>

namespace walpost {

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

std::optional<ErrorAction> ErrorActions::FirstThatLeavesOut() const {
  const auto* found = std::ranges::find_if(actions_, LeavesOut);
  return found == actions_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace walpost
