// Reads and checks the sections of the sinks: `sink`, and the keys of
// each sink, as `kafka.*`.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

// Before the keys of the outbox, whose topics have names that the sink takes.
void ReadSinkKind(Section& root, Config& config);
void ReadSink(Section& root, Config& config);
// Rejects what only Kafka can do, with another sink. Call it once the other
// sections are read.
void CheckSinkKind(Section& root, const Config& config);
// Sets what other sections decide. Call it once these are read.
void CompleteSink(Config& config);

}  // namespace walpost
