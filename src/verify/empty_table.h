// What verify may say about a table without a row: rows that were deleted leave
// nothing to compare. That is no fault of an installation that deletes what was
// sent; but it is not clean either as long as events may be pending, or after a
// slot that nobody has any more. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "verify/report.h"

namespace walpost {

struct EmptyTableFacts {
  std::string table;
  Report::Confirmed confirmed = Report::Confirmed::kNotAll;
  // Inserts that the slot has not confirmed; nullopt: not known. Only asked if
  // it has not confirmed all.
  std::optional<uint64_t> pending;
  uint64_t records = 0;  // in the topics
};

struct EmptyTable {
  bool is_undecided = false;  // else a note
  std::string text;
};

EmptyTable JudgeEmptyTable(const EmptyTableFacts& facts);

}  // namespace walpost
