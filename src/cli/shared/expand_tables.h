// The tables of a verb, if outbox.tables has patterns.
#pragma once

#include "absl/status/status.h"
#include "config/config.h"

namespace walpost {

// Whether tables count that were streamed and do not exist any more, as for
// `run`: they are a gap.
enum class WithRecorded { kNo, kYes };

// Adds the tables that match to config.outbox.tables; asks the server only if
// there are patterns. kFailedPrecondition: two patterns match one table. Others
// come from the connection, or from the store with kYes.
absl::Status ExpandTables(Config& config, WithRecorded recorded);

}  // namespace walpost
