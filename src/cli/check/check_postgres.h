// The findings of `walpost check` about Postgres.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "config/config.h"
#include "delivery/sink_findings.h"
#include "delivery/transactional_id.h"
#include "outbox/route.h"

namespace walpost {

// Each connects by itself, and blocks until it is done. A status says why
// nothing could be found out.
//
// The source of events: server, slot, publication, tables, and what is known
// from before, also about Kafka.
absl::StatusOr<Findings> FindInPostgres(const Config& config,
                                        const std::vector<Route>& routes,
                                        const SinkFindings& kafka);
// The standbys among the hosts of postgres.conninfo.
absl::StatusOr<Findings> FindInStandbys(const Config& config);
absl::StatusOr<Findings> FindForRetention(const Config& config);

// nullopt: walpost writes no transactions. Without Postgres they are empty.
std::optional<TransactionalIds> FindTransactionalIds(
    const Config& config, const std::vector<Route>& routes);

}  // namespace walpost
