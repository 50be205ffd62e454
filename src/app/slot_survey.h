// Which rows of the outbox will come through a slot, so that the initial
// snapshot must not send them, too?
//
//   slot begins           snapshot
//   ────┼──── row A ─────────┼───── row B ──▶ stream: A, B
//       └ the snapshot shows A, which is left to the stream, in its order
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "config/config.h"
#include "outbox/event_set.h"
#include "outbox/route.h"

namespace walpost {

// The events that were committed before `end`, on a connection of its own. The
// server decodes the WAL since the slot begins once more.
//
// Errors are those of PeekSlot. References outlive the coroutine.
boost::asio::awaitable<absl::StatusOr<EventSet>> SurveySlot(
    boost::asio::any_io_executor executor, const Config& config,
    const std::vector<Route>& routes, Lsn end);

}  // namespace walpost
