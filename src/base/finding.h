// Finding: result of one check before replication starts, with its remedy.
// `run` refuses to start on errors; `check` prints all findings.
#pragma once

#include <string>
#include <vector>

#include "base/finding_id.h"

namespace walpost {

enum class Severity { kOk, kNote, kWarning, kError };

// Text for a missing object.
inline constexpr char kDoesNotExist[] = "does not exist";

struct Finding {
  Severity severity;
  FindingId id;
  std::string subject;  // "publication walpost"
  std::string text;     // the result
  std::string remedy;   // SQL or a command, or empty
};

using Findings = std::vector<Finding>;

// The first error; nullptr: none.
inline const Finding* FirstError(const Findings& findings) {
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError) return &finding;
  }
  return nullptr;
}

}  // namespace walpost
