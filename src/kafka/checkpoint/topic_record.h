// Records of walpost in the checkpoint topic, beside the checkpoints: ledgers
// of senders that have transactions of their own.
#pragma once

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "kafka/client/producer_options.h"

namespace walpost {

// Where a record stands: its key is CheckpointKey(name, system_identifier).
struct TopicRecord {
  std::string topic;
  std::string name;
  std::string system_identifier;

  std::string key() const;
};

// Reads the value of the record; empty: it does not exist. Makes the topic if
// it is missing. Waits for the end of a transaction that hides the record.
// Blocks for up to 30 s: for a helper thread.
//
// kUnavailable: try again. kCancelled: asked to stop. kFailedPrecondition: as
// CompactedTopic has it.
absl::StatusOr<std::string> ReadTopicRecord(const ProducerOptions& kafka,
                                            const TopicRecord& record,
                                            std::stop_token stop);

}  // namespace walpost
