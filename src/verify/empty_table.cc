#include "verify/empty_table.h"

#include "fmt/format.h"

namespace walpost {

EmptyTable JudgeEmptyTable(const EmptyTableFacts& facts) {
  using Confirmed = Report::Confirmed;
  const bool may_be_pending =
      facts.confirmed == Confirmed::kNotAll && facts.pending != 0;
  if (may_be_pending) {
    const std::string what = facts.pending
                                 ? fmt::format("{} events are", *facts.pending)
                                 : std::string("events of deleted rows may be");
    return {true, fmt::format("table {} has no row, and {} pending in the "
                              "slot: start walpost, and verify again when it "
                              "has caught up",
                              facts.table, what)};
  }
  if (facts.records == 0) {
    return {false, fmt::format("table {} has no row, and its topics have no "
                               "record",
                               facts.table)};
  }
  const std::string text = fmt::format(
      "table {} has no row: records of rows that were deleted were not "
      "compared (--ids FILE compares with a list)",
      facts.table);
  if (facts.confirmed != Confirmed::kNeverWill) return {false, text};
  return {true, text +
                    "; without the slot it is not known whether all of them "
                    "were sent"};
}

}  // namespace walpost
