// Judges a table without a row, where verify has nothing to compare. An
// installation may delete the rows that were sent, so that is not an error. But
// it is not clean either while events may be pending, or if the slot does not
// exist any more. Pure.
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
