// The keys of the outbox: outbox.*, route.* and dead_letter.*.
#pragma once

#include <string>

#include "config/section.h"
#include "delivery/sink_kind.h"
#include "outbox/options.h"

namespace walpost {

// Adds "public." to a table without a schema; an error if it has no name.
void CompleteTableName(Section& section, const std::string& key,
                       std::string& name);

void ReadOutbox(Section section, OutboxOptions& outbox);
// After ReadOutbox: a header must not repeat one of the outbox.
void ReadRoute(Section section, OutboxOptions& outbox);
// After ReadRoute: the topic must not be one of the routes.
void ReadDeadLetter(Section section, SinkKind sink, OutboxOptions& outbox);

}  // namespace walpost
