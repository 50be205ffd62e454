// Records that Kafka may have deleted from the topics that a TopicReader has
// read.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "verify/audit_database.h"
#include "verify/topic_reader.h"

namespace walpost {

struct DeletedRecords {
  bool may_be_some = false;
  // A topic whose cleanup.policy cannot be seen; empty: none.
  std::string unseen_topic;
};

// Adds where the partitions begin, and which of `topics` are compacted.
absl::StatusOr<DeletedRecords> AddDeletedRecords(
    TopicReader& reader, const std::set<std::string>& topics,
    AuditDatabase& audit);

}  // namespace walpost
