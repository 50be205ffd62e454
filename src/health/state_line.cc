#include "health/state_line.h"

#include <algorithm>

namespace walpost {

std::string StateLine(const RelayStatus& status) {
  std::string line(ToString(status.state));
  if (!status.reason.empty()) line += ": " + status.reason;
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

}  // namespace walpost
