// Warning about rows that are older than the slot, before the first stream:
// their number, what happens to them, and the command to type.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "config/config.h"

namespace walpost {

// Whether to ask the checkpoint store if anything was streamed before; `init`
// may run where the store is not reachable.
enum class AskStore { kNo, kYes };

// One finding per table; none if the slot was streamed from or is missing.
// Errors come from the connection and the store. `config` outlives the
// coroutine.
boost::asio::awaitable<absl::StatusOr<Findings>> FindExistingRows(
    boost::asio::any_io_executor executor, const Config& config,
    AskStore ask_store);

// Logs the findings. False: not known yet, because the server is unreachable.
boost::asio::awaitable<bool> WarnOfExistingRows(
    boost::asio::any_io_executor executor, const Config& config);

}  // namespace walpost
