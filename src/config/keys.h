// The keys of the configuration, each with its type, range and place in
// Config. docs/configuration.md tells users the same; a test compares.
#pragma once

#include "config/config.h"
#include "config/key_visitor.h"

namespace walpost {

// Shows `visitor` every key once, in the order in which they are printed. The
// visitor may change the values; what is valid for a key can depend on the
// keys before it.
void VisitKeys(KeyVisitor& visitor, Config& config);

}  // namespace walpost
