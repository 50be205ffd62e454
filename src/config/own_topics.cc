#include "config/own_topics.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "outbox/dead_letter_topic.h"

namespace walpost {
namespace {

void CheckCheckpointTopic(Section& root, const Config& config) {
  const std::string& topic = config.checkpoint.topic;
  const OutboxOptions& outbox = config.outbox;
  if (!config.keeps_letters() && outbox.dead_letter.topic == topic) {
    root.Fail("dead_letter", fmt::format("topic {} is that of checkpoints, and "
                                         "compacted: dead letters need another",
                                         topic));
  }
  std::vector<std::string> routes{outbox.route.topic, outbox.messages.topic};
  for (const TableOptions& table : outbox.tables) routes.push_back(table.topic);
  if (std::ranges::find(routes, topic) != routes.end()) {
    root.Fail("checkpoint",
              fmt::format("topic {} is that of events, and would "
                          "be compacted: checkpoints need another",
                          topic));
  }
}

}  // namespace

void SetOwnTopics(Section& root, Config& config) {
  std::vector<std::string>& own = config.outbox.own_topics;
  if (config.checkpoint.store == CheckpointOptions::Store::kKafka) {
    CheckCheckpointTopic(root, config);
    own.push_back(config.checkpoint.topic);
  }
  if (config.keeps_letters()) return;
  // A template could make any names.
  const auto letters = ParseDeadLetterTopic(config.outbox.dead_letter.topic);
  if (letters.ok() && letters->references().empty()) {
    own.push_back(letters->text());
  }
}

}  // namespace walpost
