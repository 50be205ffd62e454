#include "log/repeated_line.h"

#include <utility>

#include "absl/strings/ascii.h"

namespace walpost {

std::string WithoutDigits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return absl::ascii_isdigit(c); });
  return text;
}

bool RepeatedLine::IsDue(std::string text, MonotonicTime now) {
  text = WithoutDigits(std::move(text));
  if (text == text_ && now - written_at_ < kInterval) return false;
  text_ = std::move(text);
  written_at_ = now;
  return true;
}

}  // namespace walpost
