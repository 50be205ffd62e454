// Checks of the Kafka cluster, and facts that an operator should know.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "delivery/sink_findings.h"
#include "delivery/transactional_id.h"
#include "kafka/checks/topics_check.h"
#include "kafka/producer/producer.h"

namespace walpost {

// Asks the cluster, with its own client, whether it answers, and what the user
// may do with the topics. `checkpoint_topic`: for checkpoint.store: kafka, else
// empty. `transactional_ids`: nullopt: walpost writes no transactions. A
// running instance with these ids is not disturbed.
//
// Blocks up to `timeout` per request: for the command line, not the loop. An
// unreachable cluster is a finding. kInvalidArgument and kFailedPrecondition:
// errors of the properties, as for Producer::Create. kUnavailable: an answer
// did not come.
absl::StatusOr<SinkFindings> CheckCluster(
    const ProducerOptions& options, const std::vector<TopicNames>& topics,
    const std::string& checkpoint_topic,
    const std::optional<TransactionalIds>& transactional_ids,
    std::chrono::milliseconds timeout);

// The same for ids alone: topic -> id, of those of `topics` that exist and have
// one. kUnavailable: no answer.
absl::StatusOr<std::map<std::string, std::string>> FindTopicIds(
    const ProducerOptions& options, const std::set<std::string>& topics,
    std::chrono::milliseconds timeout);

}  // namespace walpost
