// MissingTopicDetector: which topic the brokers do not know.
//
// A new topic is unknown for a moment: one counts if it is still unknown at the
// next look. The statistics tell of one that was known before.
//
// Owned by the Producer. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace walpost {

class MissingTopicDetector {
 public:
  // Call it about once a second. `unknown`: a topic of which no partition is
  // known; `by_statistics`: one that lost its partitions, while records are
  // queued. Either may be empty.
  void Look(std::string unknown, std::string_view by_statistics) {
    const bool lasts = unknown == seen_;
    seen_ = std::move(unknown);
    topic_ = lasts ? seen_ : "";
    if (topic_.empty()) topic_ = by_statistics;
  }

  // Empty: none.
  const std::string& topic() const { return topic_; }

 private:
  std::string seen_;  // at the last look
  std::string topic_;
};

}  // namespace walpost
