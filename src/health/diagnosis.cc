#include "health/diagnosis.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "base/error_source.h"
#include "base/sqlstate.h"
#include "health/condition.h"

namespace walpost {
namespace {

constexpr std::chrono::seconds kBehindAfter{2};

using Conditions = std::vector<Condition>;

std::string_view CauseOf(Part part) {
  switch (part) {
    case Part::kSlot:
      return "slot";
    case Part::kPublication:
      return "publication";
    case Part::kEvent:
      return "event";
    case Part::kPause:
      return "pause";
    case Part::kSource:
      return "postgres";
    case Part::kSink:
      return "kafka";
    case Part::kStore:
      return "checkpoint";
    case Part::kWal:
      return "wal";
  }
  return "";
}

// Class 28 is that of invalid authorizations. libpq has no code for the errors
// of TLS.
bool RejectsCredentials(const absl::Status& trouble) {
  return SqlstateOf(trouble).starts_with("28") ||
         trouble.message().find("certificate") != std::string::npos;
}

// Conditions that hold up events, or may soon. Those without brief words are
// notes, or a start without any problem so far. Because of a gap, the stream
// fails, too: that has the same code.
std::vector<std::string_view> CausesOf(const Conditions& conditions,
                                       const RelaySigns& signs) {
  std::set<std::string_view> causes;
  std::set<std::string_view> codes;
  for (const Condition& condition : conditions) {
    if (condition.permanence == Permanence::kInformation) continue;
    const std::string_view code = condition.code;
    const bool is_new = code.empty() || codes.insert(code).second;
    if (is_new && !condition.brief.empty()) {
      causes.insert(CauseOf(condition.part));
    }
  }
  const bool is_rejected =
      !IsFromKafka(signs.trouble) && RejectsCredentials(signs.trouble);
  if ((is_rejected && causes.contains("postgres")) ||
      (signs.brokers_reject_credentials && causes.contains("kafka"))) {
    causes.insert("credentials");
  }
  return {causes.begin(), causes.end()};
}

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
            "", "", CausesOf(conditions, signs)};
  }
  if (worst->state == RelayState::kDegraded) {
    return {RelayState::kDegraded, JoinReasons(conditions), "",
            CausesOf(conditions, signs)};
  }
  return {worst->state, worst->reason + NameOthers(conditions, *worst),
          worst->code, CausesOf(conditions, signs)};
}

}  // namespace walpost
