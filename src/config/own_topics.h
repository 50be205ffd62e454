// The topics that walpost itself writes: of checkpoints and of dead letters. An
// event in one of them could pass for a checkpoint or for a letter.
#pragma once

#include "config/config.h"
#include "config/section.h"

namespace walpost {

// Sets outbox.own_topics; once the rest of `config` is read. Reports topics
// that are used twice.
void SetOwnTopics(Section& root, Config& config);

}  // namespace walpost
