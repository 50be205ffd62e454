// The server as a replication connection shows it: its identity, the end of its
// WAL, and where it left an earlier timeline.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "postgres/connect/connection.h"

namespace walpost {

struct SystemIdentity {
  std::string system_identifier;
  uint32_t timeline = 0;
  Lsn wal_end;  // flushed
};

// IDENTIFY_SYSTEM. `connection` is a replication connection. Fails as Execute
// does.
boost::asio::awaitable<absl::StatusOr<SystemIdentity>> IdentifySystem(
    Connection& connection);

// The LSN at which timeline `left` ended, in the history of timeline `now`.
// nullopt: the server does not have that file any more, or `left` is not in it.
// Needs a replication connection.
boost::asio::awaitable<std::optional<Lsn>> FindFork(Connection& connection,
                                                    uint32_t now,
                                                    uint32_t left);

// The same for the content of a history file, with lines such as
// "1\t0/3000158\tno recovery target specified".
std::optional<Lsn> FindForkIn(std::string_view history, uint32_t left);

// Start time of the server, as SQL: microseconds since 1970. It differs on a
// server restored from a backup (checkpoint/xmin_horizon.h).
inline constexpr char kServerStartSql[] =
    "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";

}  // namespace walpost
