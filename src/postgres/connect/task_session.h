// Connections of walpost beside the stream.
#pragma once

#include <string_view>

#include "postgres/connect/connection.h"
#include "postgres/connect/session_name.h"
#include "postgres/connect/source_options.h"

namespace walpost {

// An ordinary session; pg_stat_activity shows "walpost:<slot>:<task>".
inline ConnectionOptions TaskSession(const WalSourceOptions& postgres,
                                     std::string_view task) {
  ConnectionOptions options;
  options.server = postgres.server;
  options.application_name = SessionName(postgres.slot, task);
  return options;
}

}  // namespace walpost
