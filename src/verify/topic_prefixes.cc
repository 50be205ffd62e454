#include "verify/topic_prefixes.h"

#include <algorithm>

namespace walpost {

const std::string& TopicTemplateOf(const TableOptions& table,
                                   const RouteOptions& route) {
  return table.topic.empty() ? route.topic : table.topic;
}

std::set<std::string> TopicPrefixes(const OutboxOptions& outbox) {
  std::set<std::string> prefixes;
  for (const TableOptions& table : outbox.tables) {
    const std::string& topic = TopicTemplateOf(table, outbox.route);
    prefixes.insert(topic.substr(0, topic.find('{')));
  }
  prefixes.erase("");
  return prefixes;
}

bool HasTopicsOfAnyName(const OutboxOptions& outbox) {
  return std::ranges::any_of(outbox.tables, [&](const TableOptions& table) {
    return TopicTemplateOf(table, outbox.route).starts_with('{');
  });
}

std::set<std::string> TopicPrefixesWithDeadLetters(
    const OutboxOptions& outbox) {
  std::set<std::string> prefixes = TopicPrefixes(outbox);
  const std::string& dead_letters = outbox.dead_letter.topic;
  prefixes.insert(dead_letters.substr(0, dead_letters.find('{')));
  prefixes.erase("");
  return prefixes;
}

}  // namespace walpost
