// TableExpansion: the tables that a relay publishes, if outbox.tables has
// patterns.
//
// A relay has the same tables for its whole life. Before it begins to stream it
// asks which tables match; and while it streams, the monitor session and the
// stream itself find tables that came later. If they are not the ones that it
// was made with, it ends as in a shutdown, and the next one is made with those:
// the rules for a table that is new in outbox.tables are the same, whether a
// person lists it or a pattern matches it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "outbox/options.h"

namespace walpost {

// Facts that a relay hands on to the next relay of the same process.
struct TableExpansion {
  OutboxOptions outbox;
  // Tables that the WAL has rows of. They may not exist any more.
  std::set<std::string> in_wal = {};
  // A relay has streamed in this process.
  bool has_streamed = false;
};

// The outbox of a relay that follows `before`:
//
//  - tables that match and are published; before the first stream others, too,
//    because the preflight then names them;
//  - tables that match and were streamed, by the record or in this process: if
//    one does not exist any more, that is a gap as with a table that is listed;
//  - tables of the WAL that do not exist and are not on record (is_dropped).
//
// kFailedPrecondition: two patterns match a table. Others come from the server
// or the store. The references outlive the coroutine.
boost::asio::awaitable<absl::StatusOr<OutboxOptions>> ExpandTables(
    boost::asio::any_io_executor executor, const Config& config,
    const TableExpansion& before);

// True if both have the same tables.
bool HasSameTables(const OutboxOptions& a, const OutboxOptions& b);

// Logs the patterns that no table matches.
void WarnOfUnmatchedPatterns(const OutboxOptions& outbox);

}  // namespace walpost
