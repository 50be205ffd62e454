// The files of sql/ for a configuration, with its own names.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "postgres/slot/slot.h"

namespace walpost {

// SQL of an outbox table, for its source, with the index that retention needs
// and with the columns as they are mapped. kFailedPrecondition: its name needs
// quotes; the files have none.
absl::StatusOr<std::string> OutboxTableSql(const Config& config,
                                           const TableOptions& table);

// The columns of that table, before they are mapped.
std::vector<std::string> OutboxTableColumns(const Config& config);

// True if tables should wake the poller; the SQL for one. It may be run again.
bool WantsNotifyTrigger(const Config& config);
absl::StatusOr<std::string> NotifyTriggerSql(const Config& config,
                                             const std::string& table);

bool WantsEmitFunction(const Config& config);
std::string EmitFunctionSql();

// The objects that exist already; empty without an answer of the server.
struct ExistingObjects {
  std::set<std::string> tables;  // schema.table
  bool publication = false;
  std::set<std::string> published;  // tables
  bool slot = false;
  int server_version = 0;  // 0: not known
  std::string unknown;     // why it is not known; empty: it is
};

// All SQL that `init` would run, in order, with comments. Errors are those of
// OutboxTableSql.
absl::StatusOr<std::string> InitSql(const Config& config, SlotFailover failover,
                                    const ExistingObjects& existing);

}  // namespace walpost
