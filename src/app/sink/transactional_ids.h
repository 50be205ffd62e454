// The transactional ids that `run` uses with a configuration: for `walpost
// check`.
#pragma once

#include <string_view>
#include <vector>

#include "config/config.h"
#include "kafka/client/transactional_id.h"
#include "outbox/route.h"

namespace walpost {

// `routes`: those of config.outbox. Of topics with fields in their names, one
// stands for all.
TransactionalIds TransactionalIdsOf(const Config& config,
                                    const std::vector<Route>& routes,
                                    std::string_view system_identifier);

}  // namespace walpost
