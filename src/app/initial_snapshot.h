// The initial snapshot: at the very first start, the rows that the outbox has
// already (`snapshot: initial`).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/status.h"
#include "config/config.h"

namespace walpost {

// Publishes every row and makes the slot, once: where there is a slot, or the
// record of one, it does nothing. Progress goes to the log.
//
// kUnavailable: try again, from the beginning. Other errors are an operator's.
boost::asio::awaitable<absl::Status> TakeInitialSnapshot(
    boost::asio::any_io_executor executor, const Config& config);

}  // namespace walpost
