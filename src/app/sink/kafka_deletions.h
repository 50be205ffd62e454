// Finds out what Kafka deletes, before events are sent, and before rows are
// deleted that may be the only copies of their events.
//
// Blocks: for the command line, and for threads of BlockingCall.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "base/reloadable_text.h"
#include "config/config.h"

namespace walpost {

// Topics that would not keep the rows of these tables (empty: all), if they
// were sent now. `severity`: of a loss. A warning where the brokers do not say
// it. Empty without a connection to both ends, and a table that the role may
// not read is left out: other checks name these.
Findings FindKafkaDeletions(const Config& config,
                            const ReloadableText& conninfo,
                            const std::vector<std::string>& tables,
                            Severity severity);

// The same, of all tables. Topics that the brokers will not create beside
// another one. Topics that keep events for a shorter time than retention.keep
// keeps rows.
Findings CompareRowsAndTopics(const Config& config,
                              const ReloadableText& conninfo,
                              Severity severity);

// Topics whose first records Kafka has deleted: of each table, rows may be the
// only copy of these events. Errors: it is not known.
struct OnlyCopies {
  std::string table;
  std::string topic;
  uint64_t deleted_records = 0;
  uint64_t left_records = 0;
};
absl::StatusOr<std::vector<OnlyCopies>> FindOnlyCopies(
    const Config& config, const ReloadableText& conninfo);

}  // namespace walpost
