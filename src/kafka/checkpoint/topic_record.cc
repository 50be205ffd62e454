#include "kafka/checkpoint/topic_record.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "checkpoint/checkpoint_candidates.h"
#include "checkpoint/uncommitted_checkpoint_scan.h"
#include "kafka/checkpoint/compacted_topic.h"

namespace walpost {
namespace {

constexpr std::chrono::seconds kLimit{30};

}  // namespace

std::string TopicRecord::key() const {
  return CheckpointKey(name, system_identifier);
}

absl::StatusOr<std::string> ReadTopicRecord(const ProducerOptions& kafka,
                                            const TopicRecord& record,
                                            std::stop_token stop) {
  WALPOST_ASSIGN_OR_RETURN(
      const std::unique_ptr<CompactedTopic> topic,
      CompactedTopic::Connect(kafka, record.topic, std::move(stop),
                              std::chrono::steady_clock::now() + kLimit));
  WALPOST_RETURN_IF_ERROR(topic->Ensure().status());
  SourceIdentity identity;
  identity.system_identifier = record.system_identifier;
  const std::string wanted = record.key();
  std::string found;
  WALPOST_RETURN_IF_ERROR(topic->Read(
      [&](std::string_view key, std::optional<std::string_view> value) {
        if (key == wanted) found = value.value_or("");
      },
      UncommittedCheckpointScan(record.name, identity)));
  return found;
}

}  // namespace walpost
