// Finds the topics that events may be on, from the configuration.
#pragma once

#include <set>
#include <string>

#include "outbox/options.h"

namespace walpost {

// For each table's topic template, the text before its first column. A template
// that begins with a column is left out.
std::set<std::string> TopicPrefixes(const OutboxOptions& outbox);
// The same, and that of the dead letters.
std::set<std::string> TopicPrefixesWithDeadLetters(const OutboxOptions& outbox);

// True if a table's template begins with a column.
bool HasTopicsOfAnyName(const OutboxOptions& outbox);

// The template of a table's topics.
const std::string& TopicTemplateOf(const TableOptions& table,
                                   const RouteOptions& route);

}  // namespace walpost
