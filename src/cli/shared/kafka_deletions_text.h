// The warning before a verb sends events that Kafka would not keep.
#pragma once

#include <string>
#include <vector>

#include "app/sink/kafka_deletions.h"
#include "cli/shared/complete_conninfo.h"
#include "cli/shared/output.h"
#include "config/config.h"

namespace walpost {

// `tables`: empty: all.
inline void PrintKafkaDeletions(const Config& config,
                                const std::vector<std::string>& tables) {
  for (const Finding& finding :
       FindKafkaDeletions(config, CompleteConninfo(config.postgres.server),
                          tables, Severity::kWarning)) {
    Print(stderr, "{}: {} {}\n",
          finding.severity == Severity::kNote ? "note" : "warning",
          finding.subject, finding.text);
    if (finding.remedy.empty()) continue;
    Print(stderr, "        -> {}\n", finding.remedy);
  }
}

}  // namespace walpost
