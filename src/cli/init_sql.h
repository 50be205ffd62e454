// The files of sql/ for a configuration, with its own names.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "postgres/slot.h"

namespace walpost {

// SQL of an outbox table, for its source, and with the index that retention
// needs. kFailedPrecondition: its name needs quotes; the files have none.
absl::StatusOr<std::string> OutboxTableSql(const Config& config,
                                           const std::string& table);

// True if tables should wake the poller; the SQL for one. It may be run again.
bool WantsNotifyTrigger(const Config& config);
absl::StatusOr<std::string> NotifyTriggerSql(const Config& config,
                                             const std::string& table);

bool WantsEmitFunction(const Config& config);
std::string EmitFunctionSql();

// All SQL that `init` would run, in order, with comments. Errors are those of
// OutboxTableSql.
absl::StatusOr<std::string> InitSql(const Config& config,
                                    SlotFailover failover);

}  // namespace walpost
