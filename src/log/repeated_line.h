// RepeatedLine: a line that is said again and again is written once per minute.
//
//   if (trouble_line_.IsDue(text, now)) LogWarn("{}", text);
//
// Lines that differ only in digits (a wait, a pid) are the same one.
#pragma once

#include <chrono>
#include <string>

#include "base/time.h"

namespace walpost {

// What lines that say the same have in common.
std::string WithoutDigits(std::string text);

class RepeatedLine {
 public:
  static constexpr std::chrono::minutes kInterval{1};

  // The line is another one than before, or is as old.
  bool IsDue(std::string text, MonotonicTime now);

 private:
  std::string text_;
  MonotonicTime written_at_;
};

}  // namespace walpost
