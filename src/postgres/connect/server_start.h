// Start time of the server, as SQL: microseconds since 1970. It differs on a
// server restored from a backup (checkpoint/xmin_horizon.h).
#pragma once

namespace walpost {

inline constexpr char kServerStartSql[] =
    "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";

}  // namespace walpost
