// Reads and checks the section of the sink: the keys `kafka.*`.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

void ReadSink(Section& root, Config& config);
// Sets what other sections decide. Call it once these are read.
void CompleteSink(Config& config);

}  // namespace walpost
