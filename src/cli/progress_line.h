// ProgressLine: how far a long verb has come, on stderr.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace walpost {

// On a terminal a line that is rewritten, else one now and then.
class ProgressLine {
 public:
  void operator()(std::string_view what, uint64_t done, uint64_t all) {
    const auto now = std::chrono::steady_clock::now();
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto pause = std::chrono::milliseconds(terminal ? 100 : 5000);
    if (now - shown_ < pause) return;
    shown_ = now;
    const std::string share =
        all > 0 ? fmt::format(" of {} ({} %)", all, done * 100 / all) : "";
    fmt::print(stderr, "{}{}: {}{}{}", terminal ? "\r\033[K" : "", what, done,
               share, terminal ? "" : "\n");
    open_ = terminal;
  }

  void Finish() const {
    if (open_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::chrono::steady_clock::time_point shown_ =
      std::chrono::steady_clock::now();
  bool open_ = false;
};

}  // namespace walpost
