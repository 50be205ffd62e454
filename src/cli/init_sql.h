// The files of sql/ that a configuration needs, under its own names.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "postgres/slot.h"

namespace walpost {

// Makes an outbox table: for its source, and with the index that retention
// needs. kFailedPrecondition: its name needs quotes, and the files know none.
absl::StatusOr<std::string> OutboxTableSql(const Config& config,
                                           const std::string& table);

// Whether a table is to wake the poller, and what makes it do so. May be run
// again.
bool WantsNotifyTrigger(const Config& config);
absl::StatusOr<std::string> NotifyTriggerSql(const Config& config,
                                             const std::string& table);

bool WantsEmitFunction(const Config& config);
std::string EmitFunctionSql();

// All that `init` would run, in its order, with comments. Errors are those of
// OutboxTableSql.
absl::StatusOr<std::string> InitSql(const Config& config,
                                    SlotFailover failover);

}  // namespace walpost
