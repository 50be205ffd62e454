// Reads and checks the keys `delivery.*`, and the topic of checkpoints.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

void ReadDelivery(Section section, Config& config);

// delivery.guarantee: exactly_once, with the other sections. Sets
// checkpoint.store, which it decides.
void CheckExactlyOnce(Section& root, Config& config);

// Sets outbox.checkpoint_topic, and reports other uses of that topic: a record
// of an event could pass for a checkpoint. Call it once the rest of `config` is
// read.
void SetCheckpointTopic(Section& root, Config& config);

}  // namespace walpost
