// The keys of the polling source: polling.* and outbox.tables[].state.*.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

void ReadRowState(Section section, RowStateOptions& state);
void ReadPolling(Section section, PollingOptions& polling);

// Checks combinations of keys: call it after everything else was read. `root`
// is the whole file.
void CheckPollingSource(Section& root, const Config& config);

}  // namespace walpost
