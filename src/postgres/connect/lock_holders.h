// Describes the sessions that hold a lock on a table, for an operator.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "postgres/connect/connection.h"

namespace walpost {

// Limit for a verb's wait for a lock.
inline constexpr char kVerbLockTimeout[] = "lock_timeout=5s";

// Describes the sessions that keep others from reading or writing the table:
// "session 4711 (psql, idle in transaction): LOCK TABLE ...". Empty: none, or
// they cannot be seen. `table`: schema.table.
boost::asio::awaitable<std::string> DescribeLockHolders(Connection& connection,
                                                        std::string table);

}  // namespace walpost
