#include "verify/topic_collisions.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"

namespace walpost {

Findings FindCollisions(const std::set<std::string>& wanted,
                        const std::set<std::string>& existing) {
  std::map<std::string, std::string> first;  // by the name that counts
  const auto counts_as = [](std::string name) {
    std::ranges::replace(name, '.', '_');
    return name;
  };
  for (const std::string& topic : existing) {
    first.emplace(counts_as(topic), topic);
  }
  Findings findings;
  for (const std::string& topic : wanted) {
    const auto [other, is_first] = first.emplace(counts_as(topic), topic);
    if (is_first || other->second == topic || existing.contains(topic)) {
      continue;
    }
    findings.push_back(
        {Severity::kWarning, FindingId("topic_name_collides"),
         fmt::format("topic {}", topic),
         fmt::format("collides with topic {}: the brokers create only one of "
                     "two names that differ in '.' and '_' alone, and events "
                     "of the other wait",
                     other->second),
         "make other names in the topic template, as in "
         "{aggregate_type|replace:_:-}"});
  }
  return findings;
}

}  // namespace walpost
