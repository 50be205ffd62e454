// Finds out whether a slot has been streamed from: asks the server and, if it
// matters, the checkpoint store.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/statusor.h"
#include "checkpoint/slot_history.h"
#include "config/config.h"
#include "postgres/slot/observed_slot.h"

namespace walpost {

// Errors are those of the store. An unreadable checkpoint counts as a
// checkpoint: it is reported when the stream begins. Both references outlive
// the coroutine.
boost::asio::awaitable<absl::StatusOr<SlotHistory>> FindStreamHistory(
    boost::asio::any_io_executor executor, const Config& config,
    const ObservedSlot& sight);

}  // namespace walpost
