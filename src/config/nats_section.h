// Keys `nats.*` (docs/nats.md).
#pragma once

#include "config/section.h"

namespace walpost {

struct NatsOptions;

void ReadNats(Section section, NatsOptions& nats);

}  // namespace walpost
