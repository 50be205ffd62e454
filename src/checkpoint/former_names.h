// Former names of renamed tables: records about their events have the name that
// the table had first (TableOptions::recorded_name).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "outbox/options.h"

namespace walpost {

// `former_names`: those that the tables had on record, in order; empty: the
// same as now (FormerNames in coverage.h). kFailedPrecondition: the
// configuration does not say that a table had such a name; has the line that is
// missing.
absl::Status RequireFormerNames(std::span<const TableOptions> tables,
                                const std::vector<std::string>& former_names);

}  // namespace walpost
