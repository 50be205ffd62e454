// CursorSql: all statements of a poller that only reads, for one table.
// cursor_position.h has the reasons.
//
// Pure: only makes text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "polling/cursor_position.h"
#include "polling/polled_table.h"

namespace walpost {

// The server at one moment, from one snapshot.
struct ServerTime {
  std::string system_identifier;
  uint64_t xmin = 0;  // transactions before it have ended
  uint64_t xmax = 0;  // this one and later ones have not begun
  // The highest place of a row whose transaction has not begun here: only
  // another cluster can have written it.
  std::optional<int64_t> highest_foreign_place;
};

// SQL, on one line, that makes the table of cursors and lets a role use it.
std::string GrantCursorTableSql(std::string_view cursor_table,
                                std::string_view role);

class CursorSql {
 public:
  using Quote = std::function<std::string(std::string_view)>;

  // `cursor_table` is schema.table.
  CursorSql(const PolledTable& table, std::string_view cursor_table,
            Quote quote);

  // sql/cursor.sql for this table.
  std::string CreateTable() const;
  // One row: true if no other walpost has this table's cursor.
  std::string TryLock() const;
  // The fields of CursorPosition in order, or no row.
  std::string Load() const;
  std::string Save(const CursorPosition& position) const;
  // The fields of ServerTime in order.
  std::string Now() const;

  // The next rows of the window. The text allows only one index, because the
  // planner's statistics do not include the newest rows.
  std::string Fetch(const CursorPosition& position, size_t limit) const;

  // After a restore: rows that `old` had not reached, behind place `after`:
  // rows above its highest place, and rows of transactions not reached. From
  // this cluster only transactions that have ended at `now`: of rows that only
  // seem younger, those up to the highest foreign place are the other
  // cluster's.
  std::string FetchRestored(const CursorPosition& old, const ServerTime& now,
                            std::optional<int64_t> after, size_t limit) const;

  // Condition of rows, under the alias `o`, that a position has passed: they
  // are in Kafka.
  std::string Passed(const CursorPosition& position) const;

  // Like TableSql::Gauges; rows never fail.
  std::string Gauges(const CursorPosition& position) const;

 private:
  std::string Unreached(const CursorPosition& position) const;

  std::string table_name_;  // as configured
  std::string name_;        // quoted, here and below
  std::string cursor_table_;
  std::string create_table_;
  std::string columns_;
  std::string id_;
  std::string age_;
  std::string place_;
  std::string transaction_id_;
  Quote quote_;
};

}  // namespace walpost
