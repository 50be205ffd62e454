// Looks for the checkpoint that the slot before has left in the store: `walpost
// run` would take a slot that was made again for one that somebody has
// advanced.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <optional>

#include "base/finding.h"
#include "config/config.h"

namespace walpost {

// To be called once the slot is made. A warning with the command that removes
// the checkpoint, or says that the store did not answer; nullopt: there is
// none. `config` outlives the coroutine.
boost::asio::awaitable<std::optional<Finding>> FindOldCheckpoint(
    boost::asio::any_io_executor executor, const Config& config);

}  // namespace walpost
