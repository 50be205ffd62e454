#include "app/sink/transactional_ids.h"

#include <set>
#include <string>

#include "outbox/topic_template.h"

namespace walpost {
namespace {

constexpr char kAnyField[] = "walpost-check";

std::set<std::string> TopicsOf(const Config& config,
                               const std::vector<Route>& routes) {
  std::set<std::string> topics;
  for (size_t i = 0; i < routes.size(); ++i) {
    const bool is_messages = i == config.outbox.tables.size();
    if (is_messages && !config.outbox.messages.enabled()) continue;
    const TopicTemplate& topic = routes[i].topic();
    topics.insert(topic.references().empty() ? topic.prefix()
                                             : topic.prefix() + kAnyField);
  }
  return topics;
}

}  // namespace

TransactionalIds TransactionalIdsOf(const Config& config,
                                    const std::vector<Route>& routes,
                                    std::string_view system_identifier) {
  TransactionalIds ids{
      RelayTransactionalId(system_identifier, config.postgres.slot)};
  const auto add = [&](std::string_view sender) {
    ids.senders.push_back(SenderTransactionalId(ids.relay, sender));
  };
  if (config.postgres.initial_snapshot) add(kSnapshotSender);
  const bool isolates = config.parking.isolates();
  // An event of an isolated topic is parked if the brokers reject it.
  if (isolates || config.on_error.Uses(ErrorAction::kPark)) {
    add(kReleasedSender);
  }
  if (config.keeps_letters()) add(kRetriedSender);
  if (!isolates) return ids;
  for (const std::string& topic : TopicsOf(config, routes)) {
    add(SenderTo(topic));
  }
  return ids;
}

}  // namespace walpost
