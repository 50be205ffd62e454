#include "delivery/topic_ids.h"

#include <utility>

#include "delivery/gap.h"
#include "delivery/topic_text.h"
#include "fmt/format.h"

namespace walpost {

void TopicIds::Reset(std::string_view text) {
  Forget();
  while (!text.empty()) {
    auto [topic, id] = TakeTopic(text);
    if (topic.empty() || id.empty() || is_full()) continue;
    ids_.emplace(std::move(topic), id);
  }
  Spell();
}

bool TopicIds::Observe(const std::string& topic, const std::string& id) {
  const auto known = ids_.find(topic);
  if (known == ids_.end()) {
    if (is_full()) return true;
    ids_.emplace(topic, id);
    Spell();
    return true;
  }
  if (known->second == id) return true;
  if (replaced_.empty()) {
    replaced_ = fmt::format(
        "topic {} has id {}, and had {} when events were acknowledged: it was "
        "deleted and created again, and events that were published are not in "
        "Kafka any more; {}",
        topic, id, known->second, kRecover);
  }
  return false;
}

std::vector<std::string> TopicIds::topics() const {
  std::vector<std::string> topics;
  for (const auto& [topic, id] : ids_) topics.push_back(topic);
  return topics;
}

void TopicIds::Forget() {
  ids_.clear();
  text_.clear();
  replaced_.clear();
}

void TopicIds::Spell() {
  text_.clear();
  for (const auto& [topic, id] : ids_) AppendTopic(topic, id, text_);
}

}  // namespace walpost
