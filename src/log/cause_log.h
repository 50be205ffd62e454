// CauseLog: logs why servers cannot be written to. All parts of a sink share
// one: a cause that each of them meets is one line.
//
// A cause that comes again after a minute of silence is logged again. Runs on
// the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "base/time.h"
#include "log/log.h"

namespace walpost {

class CauseLog {
 public:
  static constexpr std::chrono::seconds kSilence{60};
  // Maximum number of causes that are remembered.
  static constexpr size_t kMax = 100;

  // True if the cause is news.
  bool IsNew(const std::string& cause, MonotonicTime now) {
    std::erase_if(met_at_, [now](const auto& entry) {
      return now - entry.second >= kSilence;
    });
    const bool is_known = met_at_.contains(cause);
    if (is_known || met_at_.size() < kMax) met_at_[cause] = now;
    return !is_known;
  }
  void Warn(const std::string& cause) {
    if (IsNew(cause, std::chrono::steady_clock::now())) LogWarn("{}", cause);
  }

 private:
  std::map<std::string, MonotonicTime> met_at_;
};

}  // namespace walpost
