// The traces of the slot before, of which `walpost init --fresh` must speak:
// its checkpoint, at which `run` would stop, and events that are parked.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/finding.h"
#include "config/config.h"
#include "postgres/connect/connection.h"

namespace walpost {

// To be called once a new slot is made. Empty: there are no traces. All
// arguments outlive the coroutine.
boost::asio::awaitable<Findings> FindStaleState(
    boost::asio::any_io_executor executor, Connection& connection,
    const Config& config);

}  // namespace walpost
