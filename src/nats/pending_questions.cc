#include "nats/pending_questions.h"

#include <algorithm>

namespace walpost {

std::optional<StreamQuestion> PendingQuestions::Take(ByNumber::iterator found) {
  if (found == pending_.end()) return std::nullopt;
  StreamQuestion question = std::move(found->second.question);
  pending_.erase(found);
  return question;
}

std::optional<StreamQuestion> PendingQuestions::Take(uint64_t number) {
  return Take(pending_.find(number));
}

std::optional<StreamQuestion> PendingQuestions::TakeTo(
    std::string_view subject) {
  return Take(std::ranges::find_if(pending_, [subject](const auto& entry) {
    return entry.second.subject == subject;
  }));
}

std::optional<StreamQuestion> PendingQuestions::TakeLate(MonotonicTime now) {
  return Take(std::ranges::find_if(pending_, [now](const auto& entry) {
    return now - entry.second.asked_at >= kAnswerLimit;
  }));
}

}  // namespace walpost
