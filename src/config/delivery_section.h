// Reads and checks the keys `delivery.*`.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

void ReadDelivery(Section section, Config& config);

// delivery.guarantee: exactly_once, with the other sections. Sets
// checkpoint.store, which it decides.
void CheckExactlyOnce(Section& root, Config& config);

}  // namespace walpost
