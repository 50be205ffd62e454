#include "kafka/topics/topic_identity.h"

#include "fmt/format.h"
#include "kafka/client/handles.h"
#include "kafka/topics/described_topic.h"

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
  std::vector<const char*> names;
  names.reserve(topics.size());
  for (const std::string& topic : topics) names.push_back(topic.c_str());
  const KafkaTopicCollection collection(
      rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
  const KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(client_, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS));
  char ignored[1];
  rd_kafka_AdminOptions_set_request_timeout(
      options.get(), static_cast<int>(kRequestLimit.count()), ignored,
      sizeof(ignored));
  rd_kafka_DescribeTopics(client_, collection.get(), options.get(), queue_);
  is_asking_ = true;
}

void TopicIdentity::OnAnswer(rd_kafka_event_t* event) {
  is_asking_ = false;
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  for (const rd_kafka_TopicDescription_t* topic : DescribedTopics(event)) {
    const std::string name = rd_kafka_TopicDescription_name(topic);
    const std::string id = IdOf(topic);
    // The first record to a missing topic may create it again; its id will show
    // it.
    missing_.erase(name);
    if (ErrorOf(topic) == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
      missing_.insert(name);
    }
    if (id.empty() || ids_.Observe(name, id)) awaited_.erase(name);
  }
}

}  // namespace walpost
