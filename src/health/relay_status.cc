#include "health/relay_status.h"

namespace walpost {

std::string_view ToString(RelayState state) {
  switch (state) {
    case RelayState::kStarting:
      return "starting";
    case RelayState::kStandby:
      return "standby";
    case RelayState::kStreaming:
      return "streaming";
    case RelayState::kCatchingUp:
      return "catching up";
    case RelayState::kDegraded:
      return "degraded";
    case RelayState::kAtRisk:
      return "at risk";
    case RelayState::kPaused:
      return "paused";
    case RelayState::kStuck:
      return "stuck";
    case RelayState::kDraining:
      return "draining";
  }
  return "unknown";
}

bool IsReady(RelayState state) {
  switch (state) {
    case RelayState::kStandby:
    case RelayState::kStreaming:
    case RelayState::kCatchingUp:
    case RelayState::kDegraded:
      return true;
    case RelayState::kStarting:
    case RelayState::kAtRisk:
    case RelayState::kPaused:
    case RelayState::kStuck:
    case RelayState::kDraining:
      return false;
  }
  return false;
}

}  // namespace walpost
