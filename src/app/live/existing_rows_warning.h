// Warning about rows that no stream sends: those that are older than the slot,
// before the first stream, and those of a table that came to outbox.tables
// later. Their number, what happens to them, and the command to type.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "config/config.h"

namespace walpost {

// Whether to ask the checkpoint store if anything was streamed before; `init`
// may run where the store is not reachable.
enum class AskStore { kNo, kYes };
// Whether tables count that were added to the configuration: `run` reports them
// when it takes them up.
enum class ReportNew { kNo, kYes };

// One finding per table; none for tables that were streamed, or if the slot is
// missing. Errors come from the connection and the store. `config` outlives the
// coroutine.
boost::asio::awaitable<absl::StatusOr<Findings>> FindExistingRows(
    boost::asio::any_io_executor executor, const Config& config,
    AskStore ask_store, ReportNew new_tables = ReportNew::kYes);

// Logs the findings. False: not known yet, because the server is unreachable.
boost::asio::awaitable<bool> WarnOfExistingRows(
    boost::asio::any_io_executor executor, const Config& config);

}  // namespace walpost
