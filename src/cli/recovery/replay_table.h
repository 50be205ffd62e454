// walpost replay --from-table: publishes outbox rows again, however old.
#pragma once

#include <string>

#include "cli/shared/verb.h"
#include "config/config.h"

namespace walpost {

struct TableReplayArguments {
  bool from_table = false;
  std::string table;  // empty: all
  bool missing = false;
  bool expired = false;
  std::string work_directory;
  std::string since;
  std::string ids_file;
  std::string aggregate;
  std::string where;
  std::string order_by;
};

// Returns the flag itself, which options for the WAL exclude.
VerbOption AddTableReplayOptions(Verb& verb, TableReplayArguments& arguments);

// Options of all replays.
struct ReplayLimits {
  std::string topic_prefix;
  uint64_t per_second = 0;  // 0: no limit
  bool dry_run = false;
};

// Returns the exit code.
int ReplayFromTable(const TableReplayArguments& arguments, const Config& config,
                    const ReplayLimits& limits);

}  // namespace walpost
