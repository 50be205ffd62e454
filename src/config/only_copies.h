// Events may exist, as a whole, in the outbox table alone: then nothing
// may delete old rows (P11).
#pragma once

#include "absl/status/status.h"
#include "config/config.h"

namespace walpost {

// kInvalidArgument: `on_error`, `dead_letter` or `claim_check_above` leave the
// only copy of an event in the table; names the key, and what to do.
absl::Status CheckOnlyCopies(const Config& config);

}  // namespace walpost
