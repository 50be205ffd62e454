#include "delivery/relay_status.h"

namespace walpost {

std::string_view ToString(RelayState state) {
  switch (state) {
    case RelayState::kStarting:
      return "starting";
    case RelayState::kStreaming:
      return "streaming";
    case RelayState::kCatchingUp:
      return "catching up";
    case RelayState::kStuck:
      return "stuck";
    case RelayState::kDraining:
      return "draining";
  }
  return "unknown";
}

bool IsReady(RelayState state) {
  return state == RelayState::kStreaming || state == RelayState::kCatchingUp;
}

}  // namespace walpost
