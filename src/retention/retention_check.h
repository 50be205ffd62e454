// RetentionCheck: what would keep `run` from pruning, for `walpost check`.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "outbox/options.h"
#include "postgres/connection.h"
#include "postgres/source_options.h"
#include "retention/retention_options.h"

namespace walpost {

// Warnings, for events go out all the same. Tables that are missing are for
// others to name.
boost::asio::awaitable<absl::StatusOr<std::vector<Finding>>> CheckRetention(
    Connection& connection, WalSourceOptions postgres,
    std::vector<TableOptions> tables, SentProof proof);

}  // namespace walpost
