// Reads a record of walpost in the checkpoint topic.
#pragma once

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "checkpoint/topic_record.h"
#include "kafka/client/producer_options.h"

namespace walpost {

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
