// Numbering: the settings that decide the ordinals of events.
//
// An ordinal counts the events before it in its transaction. So it keeps its
// meaning only while the same rows and messages count as events: those of the
// configured tables and message prefix, as one publication sends them; with
// records.profile: debezium also updates (debezium::OnUpdate). The
// mapping of columns and the topics do not matter. Nor does a change of the
// publication: the server decodes a row with the publication as it was at that
// point of the WAL.
#pragma once

#include <cstdint>
#include <string_view>

#include "outbox/options.h"

namespace walpost {

// A fingerprint of it, the same in every release and on every machine; never 0,
// and at most INT64_MAX, because Postgres has no unsigned numbers. The order of
// the tables does not matter.
uint64_t NumberingOf(const OutboxOptions& options,
                     std::string_view publication);

}  // namespace walpost
