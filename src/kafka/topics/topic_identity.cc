#include "kafka/topics/topic_identity.h"

#include "fmt/format.h"
#include "kafka/client/admin_request.h"

namespace walpost {

void TopicIdentity::Expect() {
  const std::vector<std::string> topics = ids_.topics();
  awaited_ = {topics.begin(), topics.end()};
  missing_.clear();
  if (!is_asking_) Ask(topics);
}

absl::Status TopicIdentity::Refusal(std::string_view topic) {
  return absl::ResourceExhaustedError(fmt::format(
      "topic {} is not known yet to be the one that has the events so far",
      topic));
}

void TopicIdentity::OnTick(const std::vector<std::string_view>& acknowledged,
                           MonotonicTime now) {
  if (is_asking_) return;
  const bool all = now - asked_all_at_ >= kAskAgainAfter;
  std::vector<std::string> topics;
  if (all) {
    topics = ids_.topics();  // including missing ones
    asked_all_at_ = now;
  } else {
    topics = {awaited_.begin(), awaited_.end()};
    topics.insert(topics.end(), missing_.begin(), missing_.end());
  }
  for (const std::string_view topic : acknowledged) {
    const bool is_new = !ids_.Knows(topic) && !ids_.is_full();
    if (is_new && topics.size() < TopicIds::kMax) topics.emplace_back(topic);
  }
  Ask(topics);
}

void TopicIdentity::Ask(const std::vector<std::string>& topics) {
  if (topics.empty()) return;
  AdminRequest(client_, queue_).Within(kRequestLimit).DescribeTopics(topics);
  is_asking_ = true;
}

void TopicIdentity::OnAnswer(rd_kafka_event_t* event) {
  is_asking_ = false;
  for (const DescribedTopic& topic : DescribedTopics(event)) {
    // The first record to a missing topic may create it again; its id will show
    // it.
    missing_.erase(topic.name);
    if (topic.error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
      missing_.insert(topic.name);
    }
    if (topic.id.empty() || ids_.Observe(topic.name, topic.id)) {
      awaited_.erase(topic.name);
    }
  }
}

}  // namespace walpost
