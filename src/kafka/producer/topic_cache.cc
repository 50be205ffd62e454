#include "kafka/producer/topic_cache.h"

#include <algorithm>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"

namespace walpost {

void TopicCache::Close() {
  for (auto& [name, topic] : topics_) topic->Close();
}

size_t TopicCache::CountPartitions() const {
  size_t count = 0;
  for (const auto& [name, topic] : topics_) count += topic->partitions();
  return count;
}

std::string_view TopicCache::Unknown() const {
  std::string_view first;
  for (const auto& [name, topic] : topics_) {
    if (topic->IsUnknown() && (first.empty() || name < first)) first = name;
  }
  return first;
}

absl::StatusOr<Topic*> TopicCache::Get(std::string_view name) {
  const auto found = topics_.find(name);
  if (found != topics_.end()) return found->second.get();
  WALPOST_RETURN_IF_ERROR(MayAdd(name));
  std::string text(name);
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<Topic> topic,
                           Topic::Create(client_, text, offsets_.Of(text)));
  Topic* added = topics_.try_emplace(std::move(text), std::move(topic))
                     .first->second.get();
  if (near_limit_.HasCome(topics_.size(), limit_.topics)) {
    LogWarn(
        "records have gone to {} topics since this producer began, and "
        "kafka.max_topics is {}: raise it, if there will be more",
        topics_.size(), limit_.topics);
  }
  return added;
}

absl::Status TopicCache::MayAdd(std::string_view name) const {
  const bool is_free =
      std::ranges::find(limit_.free, name) != limit_.free.end();
  if (topics_.size() < limit_.topics || is_free) return absl::OkStatus();
  return Undeliverable(
      kReasonTooManyTopics,
      fmt::format(
          "topic '{}' would be number {} since this producer began, and "
          "kafka.max_topics is {}: raise it",
          name, topics_.size() + 1, limit_.topics));
}

}  // namespace walpost
