// CursorPosition: how far a table that is only read has been published.
//
// A sequence does not show what is committed: row 7 may be visible while row 5
// is not yet, and a poller that remembers 7 has lost 5. It is only known which
// transactions have ended: all before the current pg_snapshot_xmin. So rows are
// published window by window,
//
//     window_from <= transaction_id < window_to <= xmin
//
// and within one in the order of their places (the table's order_by, a
// sequence). Nothing is ever added to such a window. Writers of one aggregate
// come one after the other, so their rows are in one window, or in two of which
// the earlier one has the earlier places.
//
// Pure; a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace walpost {

struct CursorPosition {
  std::string system_identifier;  // of the cluster that assigns transaction ids
  uint64_t window_from = 0;
  uint64_t window_to = 0;
  // The last place of this window that is in Kafka.
  std::optional<int64_t> last_place;
  // The highest place in all windows: rows after a restore lie above it.
  std::optional<int64_t> highest_place;
  // Places up to here belong to another cluster and are done.
  std::optional<int64_t> floor_place;

  bool has_window() const { return window_from < window_to; }

  // Opens the next window; does nothing if no further transaction has ended.
  void Open(uint64_t xmin) { window_to = std::max(window_to, xmin); }

  void OnPublished(int64_t place) {
    last_place = place;
    highest_place = std::max(highest_place.value_or(place), place);
  }

  // The window has no more rows.
  void OnWindowDone() {
    window_from = window_to;
    last_place.reset();
  }

  // True if the transaction ids are of another cluster, or in the future: the
  // table was restored from a dump.
  bool IsForeign(const std::string& identifier, uint64_t xmin) const {
    return !system_identifier.empty() &&
           (identifier != system_identifier || xmin < window_from);
  }

  // True if there are rows that only another cluster can have written, except
  // those that are done.
  bool IsBelow(std::optional<int64_t> highest_foreign_place) const {
    return highest_foreign_place &&
           (!floor_place || *highest_foreign_place > *floor_place);
  }

  // Continues after all unpublished rows of the old cluster, up to the
  // transactions that had ended at `xmin` here.
  void Adopt(std::string identifier, uint64_t xmin,
             std::optional<int64_t> highest_foreign_place) {
    system_identifier = std::move(identifier);
    window_from = window_to = xmin;
    last_place.reset();
    floor_place = highest_foreign_place;
  }
};

}  // namespace walpost
