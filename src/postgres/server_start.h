// When the server was started, as SQL: microseconds since 1970. A server that
// was restored from a backup has another one (delivery/transaction_horizon.h).
#pragma once

namespace walpost {

inline constexpr char kServerStartSql[] =
    "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";

}  // namespace walpost
