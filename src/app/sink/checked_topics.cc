#include "app/sink/checked_topics.h"

#include <algorithm>
#include <map>
#include <string>

#include "outbox/dead_letter_topic.h"

namespace walpost {

std::vector<TopicNames> CheckedTopics(const Config& config,
                                      const std::vector<Route>& routes) {
  std::map<std::string, TopicNames> names;
  for (size_t i = 0; i < routes.size(); ++i) {
    const bool is_messages = i == config.outbox.tables.size();
    if (is_messages && !config.outbox.messages.enabled()) continue;
    const TopicTemplate& topic = routes[i].topic();
    TopicNames& its = names[topic.prefix()];
    its.text = topic.prefix();
    its.is_whole = topic.references().empty();
    if (const TopicCreation* creation = routes[i].creation()) {
      its.creation = *creation;
    }
    if (is_messages) continue;
    its.claim_check_above = std::max(its.claim_check_above,
                                     config.outbox.tables[i].claim_check_above);
  }
  std::vector<TopicNames> topics;
  for (const auto& [text, its] : names) topics.push_back(its);
  const auto dead_letters = ParseDeadLetterTopic(
      config.outbox.dead_letter.topic, config.outbox.route.names);
  if (config.sends_letters() && dead_letters.ok()) {
    topics.push_back(
        {dead_letters->prefix(), dead_letters->references().empty(),
         /*are_dead_letters=*/true, config.outbox.dead_letter.create_topics});
  }
  return topics;
}

}  // namespace walpost
