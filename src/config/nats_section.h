// Keys `nats.*` (docs/nats.md).
#pragma once

#include "config/section.h"
#include "nats/options.h"

namespace walpost {

void ReadNats(Section section, NatsOptions& nats);

}  // namespace walpost
