// Records of walpost beside the checkpoints: ledgers of senders that have
// transactions of their own.
#pragma once

#include <string>

#include "checkpoint/checkpoint_candidates.h"

namespace walpost {

// Where a record stands.
struct TopicRecord {
  std::string topic;
  std::string name;
  std::string system_identifier;

  std::string key() const { return CheckpointKey(name, system_identifier); }
};

}  // namespace walpost
