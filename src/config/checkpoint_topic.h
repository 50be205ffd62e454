// The topic of checkpoints is for nothing else: a record of an event could pass
// for a checkpoint.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

// Sets outbox.checkpoint_topic, and reports other uses of that topic. Call it
// once the rest of `config` is read.
void SetCheckpointTopic(Section& root, Config& config);

}  // namespace walpost
