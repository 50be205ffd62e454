// Finds where the server left an earlier timeline, in its history file.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/lsn.h"
#include "postgres/connect/connection.h"

namespace walpost {

// The LSN at which timeline `left` ended, in the history of timeline `now`.
// nullopt: the server does not have that file any more, or `left` is not in it.
// Needs a replication connection.
boost::asio::awaitable<std::optional<Lsn>> FindFork(Connection& connection,
                                                    uint32_t now,
                                                    uint32_t left);

// The same for the content of a history file, with lines such as
// "1\t0/3000158\tno recovery target specified".
std::optional<Lsn> FindForkIn(std::string_view history, uint32_t left);

}  // namespace walpost
