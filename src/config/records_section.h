// The keys of the records' format, for those who had Debezium before:
// records.*.
#pragma once

#include "config/section.h"
#include "outbox/options.h"

namespace walpost {

// After ReadOutbox, before ReadRoute, whose defaults follow the profile.
void ReadRecords(Section section, OutboxOptions& outbox);
// Refuses keys that have no effect on records as Debezium makes them. Call it
// when the whole configuration is read.
void CheckRecords(Section& root, const OutboxOptions& outbox);

}  // namespace walpost
