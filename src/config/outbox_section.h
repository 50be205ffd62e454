// The keys of the outbox: outbox.* and route.*.
#pragma once

#include <string>

#include "config/section.h"
#include "outbox/options.h"

namespace walpost {

// "public." in front of a table without a schema; an error when it has no
// name.
void CompleteTableName(Section& section, const std::string& key,
                       std::string& name);

void ReadOutbox(Section section, OutboxOptions& outbox);
// After ReadOutbox: a header may not repeat one that the outbox gives.
void ReadRoute(Section section, OutboxOptions& outbox);

}  // namespace walpost
