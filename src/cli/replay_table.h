// walpost replay --from-table: rows of the outbox once more, however old.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace walpost {

struct TableReplayArguments {
  bool from_table = false;
  std::string since;
  std::string ids_file;
  std::string aggregate;
  std::string where;
  std::string order_by;
};

// Returns the flag itself, which what is of the WAL alone excludes.
CLI::Option* AddTableReplayOptions(CLI::App& verb,
                                   TableReplayArguments& arguments);

// What all replays share.
struct ReplayLimits {
  std::string topic_prefix;
  uint64_t per_second = 0;  // 0: no limit
  bool dry_run = false;
};

// Returns the exit code.
int ReplayFromTable(const TableReplayArguments& arguments, const Config& config,
                    const ReplayLimits& limits);

}  // namespace walpost
