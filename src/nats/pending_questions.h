// PendingQuestions: the questions about streams that were asked and have no
// answer yet.
//
// Pure. Owned by the sink.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "nats/stream_finder.h"

namespace walpost {

class PendingQuestions {
 public:
  // A question that comes during an election has no answer: it is asked again.
  static constexpr std::chrono::seconds kAnswerLimit{2};

  // The number of the question, which its answer has.
  uint64_t Add(StreamQuestion question, std::string subject,
               MonotonicTime now) {
    pending_.emplace(++last_,
                     Pending{std::move(question), std::move(subject), now});
    return last_;
  }

  // The question of the number, which is pending no longer; nullopt: it was
  // taken before.
  std::optional<StreamQuestion> Take(uint64_t number);
  // The oldest question to the subject.
  std::optional<StreamQuestion> TakeTo(std::string_view subject);
  // The oldest question that was asked kAnswerLimit ago.
  std::optional<StreamQuestion> TakeLate(MonotonicTime now);

 private:
  struct Pending {
    StreamQuestion question;
    std::string subject;
    MonotonicTime asked_at;
  };
  using ByNumber = std::map<uint64_t, Pending>;

  std::optional<StreamQuestion> Take(ByNumber::iterator found);

  ByNumber pending_;
  uint64_t last_ = 0;
};

}  // namespace walpost
