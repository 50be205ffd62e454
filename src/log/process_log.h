// ProcessLog: writes the log lines of this process to stderr, on a thread of
// its own.
//
// Log() (log.h) puts a line into a bounded queue and returns at once, so a pipe
// that nobody reads does not block the process. When the queue is full, the
// oldest lines are dropped; a warning with their number precedes the next line
// that is written (log_format.h).
//
// Owned by main; one per process, for all verbs. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "log/log_options.h"
#include "log/recent_warning.h"

namespace walpost {

class ProcessLog {
 public:
  static constexpr size_t kMaxQueuedLines = 1024;
  static constexpr size_t kMaxRecentWarnings = 20;

  // Starts with text, level info and above.
  ProcessLog();
  ~ProcessLog() = default;
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;

  // Takes effect from the next line on. Does not block.
  static void Configure(const LogOptions& options);

  // The slot that each line names. To be set once, before there are lines.
  static void SetSlot(std::string slot);

  // Waits until the queued lines are written, at most for `limit`.
  static void Flush(std::chrono::milliseconds limit);

  // Lines dropped since the start.
  static uint64_t dropped_lines();

  // The latest warnings and errors, the newest last.
  static std::vector<RecentWarning> recent_warnings();

  // Closes the log after a Flush. False: its thread hangs in a write, and the
  // process must exit with _Exit.
  [[nodiscard]] bool Close(std::chrono::milliseconds limit);
};

}  // namespace walpost
