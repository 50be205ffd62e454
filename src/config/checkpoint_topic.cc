#include "config/checkpoint_topic.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"

namespace walpost {

void SetCheckpointTopic(Section& root, Config& config) {
  if (!config.checkpoint.is_in_kafka()) return;
  const std::string& topic = config.checkpoint.topic;
  OutboxOptions& outbox = config.outbox;
  outbox.checkpoint_topic = topic;
  if (!config.keeps_letters() && outbox.dead_letter.topic == topic) {
    root.Fail("dead_letter", fmt::format("topic {} is that of checkpoints, and "
                                         "compacted: dead letters need another",
                                         topic));
  }
  std::vector<std::string> routes{outbox.route.topic, outbox.messages.topic};
  for (const TableOptions& table : EntriesOf(outbox)) {
    routes.push_back(table.topic);
  }
  if (std::ranges::find(routes, topic) != routes.end()) {
    root.Fail("checkpoint",
              fmt::format("topic {} is that of events, and would be compacted: "
                          "checkpoints need another",
                          topic));
  }
}

}  // namespace walpost
