#include "health/diagnosis.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "health/condition.h"

namespace walpost {
namespace {

constexpr std::chrono::seconds kBehindAfter{2};

using Conditions = std::vector<Condition>;

// What holds at once does not hold up events: all of it is said.
std::string JoinReasons(const Conditions& conditions) {
  std::string text;
  for (const Condition& condition : conditions) {
    if (condition.state != RelayState::kDegraded) continue;
    text += (text.empty() ? "" : ". ") + condition.reason;
  }
  return text;
}

// One condition of each other part, the worst first.
std::string NameOthers(const Conditions& conditions, const Condition& worst) {
  std::string text;
  std::set<Part> named{worst.part};
  for (const Condition& condition : conditions) {
    const bool is_worth_it = condition.permanence != Permanence::kInformation &&
                             !condition.brief.empty();
    const bool is_same =
        !condition.code.empty() && condition.code == worst.code;
    if (!is_worth_it || is_same || named.size() > Diagnosis::kMaxAlso) continue;
    if (!named.insert(condition.part).second) continue;
    text += (text.empty() ? "; also: " : "; ") + condition.brief;
  }
  return text;
}

}  // namespace

Diagnosis Diagnose(const RelaySigns& signs) {
  if (signs.draining) return {RelayState::kDraining, ""};
  const Conditions conditions = ConditionsOf(signs);
  const auto worst = std::ranges::find(conditions, false, &Condition::is_note);
  if (worst == conditions.end()) {
    return {signs.oldest_in_flight > kBehindAfter ? RelayState::kCatchingUp
                                                  : RelayState::kStreaming,
            ""};
  }
  if (worst->state == RelayState::kDegraded) {
    return {RelayState::kDegraded, JoinReasons(conditions)};
  }
  return {worst->state, worst->reason + NameOthers(conditions, *worst),
          worst->code};
}

}  // namespace walpost
