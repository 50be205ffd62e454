#include "delivery/topic_ids.h"

#include "delivery/gap.h"
#include "fmt/format.h"

namespace walpost {

void TopicIds::Reset(std::string_view text) {
  Forget();
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    if (equals + 1 == pair.size() || is_full()) continue;
    ids_.emplace(pair.substr(0, equals), pair.substr(equals + 1));
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
  for (const auto& [topic, id] : ids_) {
    text_ += fmt::format("{}{}={}", text_.empty() ? "" : ",", topic, id);
  }
}

}  // namespace walpost
