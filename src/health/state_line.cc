#include "health/state_line.h"

#include <algorithm>
#include <chrono>

namespace walpost {

std::string StateLine(const RelayStatus& status) {
  std::string line(ToString(status.state));
  if (!status.reason.empty()) line += ": " + status.reason;
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

bool IsStateKnown(const RelayStatus& status) {
  constexpr std::chrono::seconds kMaxStart{10};
  return status.state != RelayState::kStarting ||
         status.in_state_for >= kMaxStart;
}

}  // namespace walpost
