// CursorGate: finds out which rows of a table a cursor has passed.
//
// Rows that are polled with strategy `cursor` are never marked. Their only
// proof is the position that the poller has stored after the brokers'
// acknowledgement (polling/cursor_position.h): a row before it was sent. It
// only moves forward, so it may be read once and relied on from then on.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// Condition of the rows that were sent, under the alias `o`; no row if nothing
// was sent yet. kFailedPrecondition: the cursor table is missing, or the polled
// table is not as configured. kUnavailable: the position is of another cluster,
// from which the table was restored; `run` has not been here yet.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadPassedSql(
    Connection& connection, TableOptions options, std::string cursor_table);

}  // namespace walpost
