// ProgressLine: shows the progress of a long verb on stderr.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/shared/output.h"
#include "fmt/format.h"

namespace walpost {

// On a terminal it rewrites one line, else it prints one now and then.
class ProgressLine {
 public:
  void operator()(std::string_view what, uint64_t done, uint64_t all) {
    Show(all > 0 ? fmt::format("{}: {} of {} ({} %)", what, done, all,
                               done * 100 / all)
                 : fmt::format("{}: {}", what, done));
  }

  // Adds the remaining time at the average speed so far.
  void WithEstimate(std::string_view what, uint64_t done, uint64_t all) {
    if (done == 0 || all == 0) return Show(std::string(what));
    const double share = static_cast<double>(done) / static_cast<double>(all);
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - begun_;
    Show(fmt::format("{} ({:.0f} %), about {:.0f} s left", what, 100 * share,
                     passed.count() * (1 - share) / share));
  }

  void Finish() const {
    if (open_) Print(stderr, "\r\033[K");
  }

 private:
  void Show(const std::string& text) {
    const auto now = std::chrono::steady_clock::now();
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto pause = std::chrono::milliseconds(terminal ? 100 : 5000);
    if (now - shown_ < pause) return;
    shown_ = now;
    Print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", text,
          terminal ? "" : "\n");
    open_ = terminal;
  }

  std::chrono::steady_clock::time_point begun_ =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = begun_;
  bool open_ = false;
};

}  // namespace walpost
