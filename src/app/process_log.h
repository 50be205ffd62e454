// ProcessLog: the log lines of this process, written to stderr by a thread of
// their own.
//
// `spdlog::info` and its like put a line into a bounded queue and return at
// once, so a pipe that nobody reads holds up nothing. When the queue is full
// the oldest lines are dropped; the next line that is written is preceded by a
// warning with their number.
//
//   text   2026-11-22T10:00:00.000Z warning the message
//   json   {"time":"2026-11-22T10:00:00.000Z","level":"warning","message":"…"}
//
// Owned by main; one in a process, for all verbs. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/log_options.h"

namespace walpost {

class ProcessLog {
 public:
  static constexpr size_t kMaxQueuedLines = 1024;

  // Text, from level info on.
  ProcessLog();
  ~ProcessLog() = default;
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;

  // From the next line on. Waits for nothing.
  static void Configure(const LogOptions& options);

  // Waits until the queued lines are written, no longer than `limit`.
  static void Flush(std::chrono::milliseconds limit);

  // Lines that were dropped since the start.
  static uint64_t dropped_lines();

  // Ends the log after a Flush. False: its thread hangs in a write, and the
  // process must leave with _Exit.
  [[nodiscard]] bool Close(std::chrono::milliseconds limit);
};

}  // namespace walpost
