// Judgement: compares the two sides of the evidence. All of it is queries, to
// be read as the definition of each kind of finding.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "verify/evidence.h"
#include "verify/report.h"

namespace walpost {

struct JudgementOptions {
  // The column of the table that gives the expected records their sequence.
  // Empty: order is judged by the header walpost-position; id order is not
  // commit order and is never used.
  std::string sequence_column;
  // The column by which recover and the snapshot sort rows; empty: not known.
  std::string row_order;
  // What could not be looked at, one sentence each.
  std::vector<std::string> undecided;
  bool fail_on_not_in_table = false;
  bool fail_on_without_id = true;
  bool fail_on_duplicates = false;
};

absl::StatusOr<Report> Judge(const Evidence& evidence,
                             const JudgementOptions& options);

}  // namespace walpost
