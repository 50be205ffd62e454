// Whether a slot has been streamed from, by all that knows of it: the server,
// and the checkpoint store where that is worth asking.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "postgres/slot_history.h"
#include "postgres/slot_sight.h"

namespace walpost {

// Errors are those of the store; a checkpoint that cannot be read counts as
// one: it is named when the stream begins. Both references outlive the
// coroutine.
boost::asio::awaitable<absl::StatusOr<SlotHistory>> FindStreamHistory(
    boost::asio::any_io_executor executor, const Config& config,
    const SlotSight& sight);

}  // namespace walpost
