// Finding: one thing that was looked at before replication starts, how it
// stands, and what mends it. `run` refuses to start on errors; `check` prints
// them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace walpost {

enum class Severity { kOk, kNote, kWarning, kError };

// The text of what is missing.
inline constexpr char kDoesNotExist[] = "does not exist";

struct Finding {
  Severity severity = Severity::kOk;
  std::string subject;  // "publication walpost"
  std::string text;     // how it stands
  std::string remedy;   // SQL or a command, or empty
};

// The first error, nullptr when there is none.
inline const Finding* FirstError(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError) return &finding;
  }
  return nullptr;
}

}  // namespace walpost
