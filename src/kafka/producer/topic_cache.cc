#include "kafka/producer/topic_cache.h"

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

void TopicCache::Close() {
  for (auto& [name, topic] : topics_) topic->Close();
}

absl::StatusOr<Topic*> TopicCache::Get(std::string_view name) {
  const auto found = topics_.find(name);
  if (found != topics_.end()) return found->second.get();
  if (topics_.size() >= kMaxTopics) {
    return absl::InvalidArgumentError(fmt::format(
        "topic '{}' would be number {}: does route.topic make topics of a "
        "column with too many values?",
        name, kMaxTopics + 1));
  }
  std::string text(name);
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<Topic> topic,
                           Topic::Create(client_, text, offsets_.Of(text)));
  return topics_.try_emplace(std::move(text), std::move(topic))
      .first->second.get();
}

}  // namespace walpost
