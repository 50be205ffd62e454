// RetentionCheck: finds causes that keep `run` from pruning.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "retention/retention_options.h"

namespace walpost {

// For `walpost check`. Warnings only, because events are sent all the same.
// Other checks report missing tables.
boost::asio::awaitable<absl::StatusOr<Findings>> CheckRetention(
    Connection& connection, WalSourceOptions postgres,
    std::vector<TableOptions> tables, SentProof proof);

}  // namespace walpost
