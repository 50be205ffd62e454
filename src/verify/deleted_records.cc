#include "verify/deleted_records.h"

#include <vector>

#include "base/status_macros.h"

namespace walpost {

absl::StatusOr<DeletedRecords> AddDeletedRecords(
    TopicReader& reader, const std::set<std::string>& topics,
    AuditDatabase& audit) {
  DeletedRecords deleted;
  WALPOST_ASSIGN_OR_RETURN(const std::vector<PartitionStart> starts,
                           reader.FindStarts(topics));
  std::set<std::string> existing;
  for (const PartitionStart& start : starts) {
    deleted.may_be_some |= start.begin > 0;
    existing.insert(start.topic);
    WALPOST_RETURN_IF_ERROR(audit.AddPartition(start));
  }
  for (const std::string& topic : topics) {
    if (!existing.contains(topic)) continue;
    const TopicConfig config = reader.Describe(topic);
    const auto policy = config.find("cleanup.policy");
    if (policy == config.end()) {
      deleted.unseen_topic = topic;
    } else if (policy->second.find("compact") != std::string::npos) {
      deleted.may_be_some = true;
      WALPOST_RETURN_IF_ERROR(audit.AddCompacted(topic));
    }
  }
  return deleted;
}

}  // namespace walpost
