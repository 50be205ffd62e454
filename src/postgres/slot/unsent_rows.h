// UnsentRows: the rows of an outbox table that the slot does not send.
//
// They are in the table, and not in the WAL that the slot still has: they are
// older than the table's place in the publication, or were sent to a walpost
// that did not have the table in its configuration.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "base/lsn.h"
#include "outbox/options.h"
#include "postgres/catalog/existing_rows.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"

namespace walpost {

struct UnsentRows {
  // Their number; `trouble`: the table cannot be read.
  ExistingRows rows;
  // True if some of them were inserted while the publication had the table. Not
  // exact if an older transaction went on inserting.
  bool was_published = false;
};

// `table`: index into `outbox.tables`. `resumes_at`: earlier transactions of
// the slot are skipped. While the slot is in use, or has too much to be looked
// through, rows that the publication has covered do not count: they may come.
//
// Takes at most half a minute. Errors come from the connection, which must not
// have an open transaction. All references outlive the coroutine.
boost::asio::awaitable<absl::StatusOr<UnsentRows>> CountUnsentRows(
    Connection& connection, const WalSourceOptions& postgres,
    const OutboxOptions& outbox,
    const std::vector<std::vector<std::string>>& references, size_t table,
    Lsn resumes_at);

// Describes what becomes of these rows when the table is taken up, with the
// remedy. `is_streaming`: a walpost without the table has the slot.
Finding DescribeUnsentRows(const ExistingRows& rows,
                           const WalSourceOptions& postgres,
                           bool is_streaming = false);

}  // namespace walpost
