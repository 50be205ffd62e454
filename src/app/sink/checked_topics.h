// The topics of Kafka that `run` uses with a configuration: for `walpost
// check`.
#pragma once

#include <vector>

#include "config/config.h"
#include "kafka/checks/topics_check.h"
#include "outbox/route.h"

namespace walpost {

// The topics of events and dead letters, by their prefix. `routes`: of
// config.outbox.
std::vector<TopicNames> CheckedTopics(const Config& config,
                                      const std::vector<Route>& routes);

}  // namespace walpost
