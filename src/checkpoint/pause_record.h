// PauseRecord: an operator has paused a slot or a polled table, or resumed it
// (`walpost pause`, `walpost resume`).
//
// A line in the comment of the publication, beside the birth record; of a
// polled table, in the comment of the table:
//
//   walpost: slot orders paused by=alice at=2026-11-22T12:00:00Z why=upgrade
//   walpost: polling resumed by=bob at=2026-11-22T13:00:00Z why=
//
// (one line; everything behind `why=` is the reason). Resuming also writes a
// line, because a missing line says nothing (checkpoint/pause_gate.h).
//
// Pure; postgres/slot/pause_record.h reads and writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace walpost {

struct PauseRecord {
  bool is_paused = false;
  std::string by;   // a name without spaces; empty: cannot be read
  WallTime at{};    // whole seconds; the epoch: cannot be read
  std::string why;  // one line; may be empty

  friend bool operator==(const PauseRecord&, const PauseRecord&) = default;
};

// Subject of the line, in the comment of the publication or of the table.
std::string PauseSubject(std::string_view slot);
inline constexpr std::string_view kPollingPauseSubject = "polling";

// The newest record about the subject in these comments; of two of the same
// second, the pause. A line with damaged details counts. nullopt: there is no
// line.
std::optional<PauseRecord> FindPause(const std::vector<std::string>& comments,
                                     std::string_view subject);
// The newest record about a polled table, in its comment.
std::optional<PauseRecord> FindTablePause(const std::string& comment);
// Puts the record into a comment, in the place of earlier ones. Line feeds and,
// in `by`, spaces are replaced.
std::string WithPause(std::string_view comment, std::string_view subject,
                      const PauseRecord& record);

// "by alice since 2026-11-22T12:00:00Z: upgrade"
std::string DescribePause(const PauseRecord& record);
// "2026-11-22T12:00:00Z"
std::string PausedAt(const PauseRecord& record);

}  // namespace walpost
