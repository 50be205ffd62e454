// What must hold at the Kafka end, and what an operator should know.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "kafka/producer.h"

namespace walpost {

// Asks the cluster, with a client of its own. `topic_prefixes` are what the
// configured topic names begin with: the text before the first column.
//
// Blocks for up to `timeout` a request: for the command line, not the loop.
// An unreachable cluster is a finding. kInvalidArgument and
// kFailedPrecondition are of the properties, as for Producer::Create.
absl::StatusOr<std::vector<Finding>> CheckCluster(
    const ProducerOptions& options,
    const std::vector<std::string>& topic_prefixes,
    std::chrono::milliseconds timeout);

}  // namespace walpost
