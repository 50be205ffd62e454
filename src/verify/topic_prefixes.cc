#include "verify/topic_prefixes.h"

#include <algorithm>

#include "outbox/topic_template.h"

namespace walpost {
namespace {

// The text before the first column.
std::string PrefixOf(const std::string& topic, NameRule names) {
  const auto parsed = TopicTemplate::Parse(topic, names);
  return parsed.ok() ? parsed->prefix() : "";
}

}  // namespace

const std::string& TopicTemplateOf(const TableOptions& table,
                                   const RouteOptions& route) {
  return table.topic.empty() ? route.topic : table.topic;
}

std::set<std::string> TopicPrefixes(const OutboxOptions& outbox) {
  std::set<std::string> prefixes;
  for (const TableOptions& table : outbox.tables) {
    prefixes.insert(
        PrefixOf(TopicTemplateOf(table, outbox.route), outbox.route.names));
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
  prefixes.insert(PrefixOf(outbox.dead_letter.topic, outbox.route.names));
  prefixes.erase("");
  return prefixes;
}

}  // namespace walpost
