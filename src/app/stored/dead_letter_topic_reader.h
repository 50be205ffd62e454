// DeadLetterTopicReader: the dead letters of a configuration, read from Kafka.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "dead_letters/dead_letter_index.h"

namespace walpost {

class DeadLetterTopicReader {
 public:
  using Progress =
      std::function<void(std::string_view what, uint64_t done, uint64_t all)>;

  // Reads `topics`; if there are none, those of dead_letter.topic, and of its
  // earlier values in `formerly`. `config` outlives this object.
  DeadLetterTopicReader(const Config& config, std::vector<std::string> topics,
                        Progress progress,
                        std::vector<std::string> formerly = {})
      : config_(config),
        topics_(std::move(topics)),
        progress_(std::move(progress)),
        templates_(std::move(formerly)) {
    templates_.push_back(config.outbox.dead_letter.topic);
  }

  // kInvalidArgument: no topic can be told from the templates; one of several
  // that tells none is logged.
  // kUnavailable: no broker answers.
  absl::StatusOr<DeadLetterIndex> ReadIndex();
  // Dead letters and decisions that ReadIndex could not read, with the places
  // of the first ones: nothing is known of them.
  uint64_t unreadable() const { return unreadable_; }
  const std::vector<absl::Status>& unreadable_places() const {
    return unreadable_places_;
  }

  // Shows the letters at these places, with their payloads, in order.
  using Take = std::function<absl::Status(const LetterPlace&, DeadLetter)>;
  absl::Status ReadAt(const std::set<LetterPlace>& places, const Take& take);

 private:
  using TakeRecord =
      std::function<absl::Status(const LetterPlace&, const Record&)>;
  absl::Status Read(const TakeRecord& take);

  const Config& config_;
  std::vector<std::string> topics_;
  Progress progress_;
  std::vector<std::string> templates_;
  uint64_t unreadable_ = 0;
  std::vector<absl::Status> unreadable_places_;
};

}  // namespace walpost
