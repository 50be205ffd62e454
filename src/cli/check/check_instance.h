// The findings of `walpost check` about http.listen, and about the walpost that
// answers there.
#pragma once

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "config/config.h"

namespace walpost {

// A walpost with this configuration that is stuck is an error, with its reason;
// so is a port that another program has. kInvalidArgument: not an address.
absl::StatusOr<Findings> FindInstance(const Config& config);

}  // namespace walpost
