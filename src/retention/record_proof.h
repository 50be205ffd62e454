// RecordProof: finds the rows that have come through the slot, by the proof of
// the birth record. Pure.
//
//   no gap         on record
//   the same       definitions now as on record (checkpoint/coverage.h)
//   on record      a table that was added later has fences of its own, from
//                  when it was taken up; else it is not known since when its
//                  rows are sent
//   two fences     transaction and time of the first row (prune_sql.h)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/coverage.h"
#include "outbox/options.h"
#include "retention/prune_sql.h"

namespace walpost {

class RecordProof {
 public:
  // `now`: the coverage of the publication. Before this call, and after an
  // error, nothing is proven. kFailedPrecondition: there is a gap; with its
  // reason code and the remedy.
  absl::Status Take(std::optional<BirthRecord> record, const Coverage& now,
                    std::span<const TableOptions> tables);
  void Forget() {
    record_.reset();
    rules_.clear();
  }

  // True if some rows of a table are proven; by its index.
  bool Covers(size_t table) const { return RuleOf(table).streamed_from > 0; }
  // True if the record says since when the slot sends rows.
  bool is_complete() const;
  // Start of the proof, for people; if something is proven.
  std::string Since(size_t table) const;
  // The fences; the caller fills in the rest of the rule.
  CoveredRule RuleOf(size_t table) const;

 private:
  std::optional<BirthRecord> record_;
  std::vector<CoveredRule> rules_;  // by table
};

// Error of a gap, with its reason code: why nothing is deleted.
absl::Status NothingIsDeleted(const std::string& gap, const std::string& text);

}  // namespace walpost
