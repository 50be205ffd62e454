// Columns with the publishing state of an outbox row: keys
// `outbox.tables[].state.*` of docs/configuration.md.
//
// Every name is a column, and may be empty: then the table has no such column.
// A row is pending
//
//   with `status`      while that column holds `pending` (or `processing`,
//                      under an expired lease)
//   without `status`   while `published_at` is null
//
// `source: polling` and `prune` use this. The WAL source reads inserts,
// whatever happens to the row later. It uses only `transaction_id`, for
// checkpoints and `recover`.
#pragma once

#include <string>

namespace walpost {

struct RowStateOptions {
  std::string status;
  // Values of `status`: any text that the column's type accepts, including the
  // labels of an enum.
  std::string pending = "pending";
  // While somebody holds the row; empty: it stays `pending`, and only its lease
  // shows it.
  std::string processing = "processing";
  std::string published = "published";
  // Given up; empty: rows are never given up.
  std::string failed = "failed";

  std::string published_at;  // a timestamp

  // The lease: either its end or its last renewal.
  std::string locked_until;
  std::string heartbeat_at;

  std::string attempts;  // a number: rejections of this row
  std::string last_error;
  std::string next_attempt_at;  // a timestamp: not before this time

  // An xid8 with DEFAULT pg_current_xact_id(): the inserting transaction.
  std::string transaction_id;

  bool has_lease() const {
    return !locked_until.empty() || !heartbeat_at.empty();
  }
  // True if the status distinguishes a held row from a pending one.
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
