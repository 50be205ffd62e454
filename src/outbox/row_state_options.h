// Where a row of an outbox table says whether it has been published: keys
// `outbox.tables[].state.*` of docs/configuration.md.
//
// Every name is a column and may be empty: then the table has no such column.
// A row is pending
//
//   with `status`      while that column holds `pending` (or `processing`,
//                      under a lease that has ended)
//   without `status`   while `published_at` is null
//
// `source: polling` and `prune` look at this. The WAL source reads inserts,
// whatever becomes of the row: of it only `transaction_id` is looked at, by
// checkpoints and `recover`.
#pragma once

#include <string>

namespace walpost {

struct RowStateOptions {
  std::string status;
  // The values of `status`: any text that the column's type takes, the labels
  // of an enum included.
  std::string pending = "pending";
  // While somebody holds the row; empty: it stays `pending`, and its lease
  // alone says so.
  std::string processing = "processing";
  std::string published = "published";
  // Given up; empty: a row is never given up.
  std::string failed = "failed";

  std::string published_at;  // a timestamp

  // The lease, as one of: when it ends, or when it was last renewed.
  std::string locked_until;
  std::string heartbeat_at;

  std::string attempts;  // a number: how often this row was refused
  std::string last_error;
  std::string next_attempt_at;  // a timestamp: not before

  // An xid8 with DEFAULT pg_current_xact_id(): who inserted the row.
  std::string transaction_id;

  bool has_lease() const {
    return !locked_until.empty() || !heartbeat_at.empty();
  }
  // Whether a held row is told from a pending one by its status.
  bool marks_processing() const {
    return !status.empty() && has_lease() && !processing.empty() &&
           processing != pending;
  }
  bool marks_published() const {
    return !status.empty() || !published_at.empty();
  }
  bool can_fail() const { return !status.empty() && !failed.empty(); }
};

}  // namespace walpost
