// The topics that events may be on, as far as the configuration tells.
#pragma once

#include <set>
#include <string>

#include "outbox/options.h"

namespace walpost {

// Of each table's topic template, the text before its first column. A template
// that begins with a column tells nothing, and is left out.
std::set<std::string> TopicPrefixes(const OutboxOptions& outbox);

// The template of a table's topics.
const std::string& TopicTemplateOf(const TableOptions& table,
                                   const RouteOptions& route);

}  // namespace walpost
