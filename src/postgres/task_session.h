// Connections of walpost beside the stream.
#pragma once

#include <string_view>

#include "fmt/format.h"
#include "postgres/connection.h"
#include "postgres/source_options.h"

namespace walpost {

// An ordinary session; pg_stat_activity shows "walpost:<slot>:<task>".
inline ConnectionOptions TaskSession(const WalSourceOptions& postgres,
                                     std::string_view task) {
  ConnectionOptions options;
  options.server = postgres.server;
  options.application_name = fmt::format("walpost:{}:{}", postgres.slot, task);
  return options;
}

}  // namespace walpost
