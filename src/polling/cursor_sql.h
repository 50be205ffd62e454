// CursorSql: every statement of a poller that only reads, for one table.
// cursor_position.h says why they are so.
//
// Pure: makes text and nothing else.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "polling/cursor_position.h"
#include "polling/polled_table.h"

namespace walpost {

// The server at one moment: one snapshot of it.
struct ServerTime {
  std::string system_identifier;
  uint64_t xmin = 0;  // transactions before it have ended
  uint64_t xmax = 0;  // this one and later ones have not begun
  // The highest place of a row whose transaction has not begun here: only
  // another cluster can have made it.
  std::optional<int64_t> highest_foreign_place;
};

class CursorSql {
 public:
  using Quote = std::function<std::string(std::string_view)>;

  // `cursor_table` is schema.table.
  CursorSql(const PolledTable& table, std::string_view cursor_table,
            Quote quote);

  // sql/cursor.sql for this table.
  std::string CreateTable() const;
  // One row: whether no other walpost has this table's cursor.
  std::string TryLock() const;
  // The fields of CursorPosition in their order, or no row.
  std::string Load() const;
  std::string Save(const CursorPosition& position) const;
  // The fields of ServerTime in their order.
  std::string Now() const;

  // The next rows of the window. The text leaves one index to use, for the
  // planner's statistics know nothing of the newest rows.
  std::string Fetch(const CursorPosition& position, size_t limit) const;

  // After a restore: what `old` had not come to, behind place `after`. Those
  // are rows above its highest place, and rows of transactions that it had not
  // reached. Of this cluster only what has ended at `now`: of rows that only
  // seem younger, those up to the highest foreign place are the other's.
  std::string FetchRestored(const CursorPosition& old, const ServerTime& now,
                            std::optional<int64_t> after, size_t limit) const;

  // The condition of rows, under the alias `o`, that a position has passed:
  // they are in Kafka.
  std::string Passed(const CursorPosition& position) const;

  // As TableSql::Gauges; nothing is ever failed.
  std::string Gauges(const CursorPosition& position) const;

 private:
  std::string Unreached(const CursorPosition& position) const;

  std::string table_name_;  // as configured
  std::string name_;        // quoted, here and below
  std::string cursor_table_;
  std::string columns_;
  std::string id_;
  std::string age_;
  std::string place_;
  std::string transaction_id_;
  Quote quote_;
};

}  // namespace walpost
