// What is said about rows that are older than the slot, before the first
// stream: how many, what becomes of them, and what to type.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "config/config.h"

namespace walpost {

// Whether the checkpoint store is asked if something was streamed before;
// `init` may run where the store cannot be reached.
enum class AskStore { kNo, kYes };

// One finding for each table; none when the slot was streamed from, or is
// missing. Errors are those of the connection and of the store. `config`
// outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<std::vector<Finding>>> FindExistingRows(
    boost::asio::any_io_executor executor, const Config& config,
    AskStore ask_store);

// Logs them. False: not known yet, because the server cannot be reached.
boost::asio::awaitable<bool> WarnOfExistingRows(
    boost::asio::any_io_executor executor, const Config& config);

}  // namespace walpost
