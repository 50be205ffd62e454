// TableSql: common parts of the statements about a polled table, and the counts
// of rows per state.
//
// An alias is the table's in the statement, and may be empty; the result is a
// condition or an expression about its rows.
//
// Pure: only makes text.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "polling/polled_table.h"

namespace walpost {

// The age of a row in seconds; NULL if the table does not know it.
std::string AgeSql(const PolledTable& table, std::string_view alias);

class TableSql {
 public:
  using Quote = std::function<std::string(std::string_view)>;
  using Ids = std::span<const std::string>;

  // `quote` makes a text an SQL literal. The table outlives this object.
  TableSql(const PolledTable& table, Quote quote);

  // One row: pending, failed (both counted up to kMaxCounted), the id of the
  // first pending row, and its age. A held row is pending as well.
  static constexpr int kMaxCounted = 100'000;
  std::string Gauges() const;

 protected:
  static constexpr std::string_view kNull = "NULL";

  std::string Column(std::string_view alias, std::string_view name) const;
  std::string Order(std::string_view alias) const;
  std::string In(std::string_view alias, Ids ids) const;
  std::string Pending(std::string_view alias) const;
  // Only for a table whose state marks_processing().
  std::string Processing(std::string_view alias) const;
  bool marks_processing() const { return table_.state.marks_processing(); }
  static std::string Now(std::chrono::milliseconds from_now);

  const PolledTable& table_;
  Quote quote_;
  std::string name_;  // quoted

 private:
  std::string Count(std::string_view condition) const;
  std::string Some(std::string_view condition) const;
};

}  // namespace walpost
