// Judgement: compares the two sides of the evidence. All of it is queries,
// which are the definitions of the kinds of findings.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "verify/audit_database.h"
#include "verify/report.h"

namespace walpost {

struct JudgementOptions {
  // Column of the table with the expected records' sequence. Empty: order is
  // judged by the header walpost-position; id order is not commit order and is
  // never used.
  std::string sequence_column;
  // Column that recover and the snapshot sort rows by; empty: not known.
  std::string row_order;
  // Items that could not be checked, one sentence each.
  std::vector<std::string> undecided;
  // Topics whose partitions are chosen by a column (route.partition), so that a
  // key may be in several: name, or prefix of the names.
  struct ChosenPartitions {
    std::string topic;
    bool is_prefix = false;
  };
  std::vector<ChosenPartitions> chosen_partitions;
  bool fail_on_not_in_table = false;
  bool fail_on_without_id = true;
  bool fail_on_duplicates = false;
};

absl::StatusOr<Report> Judge(const AuditDatabase& evidence,
                             const JudgementOptions& options);

}  // namespace walpost
