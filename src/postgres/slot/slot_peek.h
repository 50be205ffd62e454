// Reads the events that a stream of a slot would begin with, and leaves the
// slot as it is.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "outbox/event.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"

namespace walpost {

// Shows the events of the transactions that were committed before `end`, and
// perhaps later ones. An event that cannot be mapped is shown with the fields
// that it has. Events of a table that matches a pattern and is only in the WAL
// have the source of messages. `references`: see TransactionAssembler. The
// server decodes the WAL up to there before the first one, and keeps the result
// in temporary files.
//
// kUnavailable: try again; with SQLSTATE 55006 another process has the slot.
// kFailedPrecondition: a right is missing. All references outlive the
// coroutine.
boost::asio::awaitable<absl::Status> PeekSlot(
    Connection& connection, const WalSourceOptions& postgres,
    const OutboxOptions& outbox,
    const std::vector<std::vector<std::string>>& references, Lsn end,
    const std::function<void(const Event& event)>& show);

}  // namespace walpost
