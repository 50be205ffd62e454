// The keys of the polling source: polling.* and outbox.tables[].state.*.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

void ReadRowState(Section section, RowStateOptions& state);
void ReadPolling(Section section, PollingOptions& polling);

// What only fits together or not: run when everything else has been read.
// `root` is the whole file.
void CheckPollingSource(Section& root, const Config& config);

}  // namespace walpost
