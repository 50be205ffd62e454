// RecordProof: which rows the birth record proves to have come through the
// slot. Pure.
//
//   no gap         on record
//   the same       definitions now as on record (delivery/coverage.h)
//   on record      a table that was added later is not proven: nobody knows
//                  since when its rows are sent
//   two fences     transaction and time since when (prune_sql.h)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "delivery/birth_record.h"
#include "delivery/coverage.h"
#include "outbox/options.h"
#include "retention/prune_sql.h"

namespace walpost {

class RecordProof {
 public:
  // `now`: what the publication covers. Before this, and after an error,
  // nothing is proven. kFailedPrecondition: there is a gap; with its reason
  // code and the remedy.
  absl::Status Take(std::optional<BirthRecord> record, const Coverage& now,
                    std::span<const TableOptions> tables);
  void Forget() { record_.reset(); }

  // Whether some rows of a table are proven, by its index.
  bool Covers(size_t table) const;
  // Whether the record says since when the slot sends rows.
  bool is_complete() const;
  // Since when, for people; where something is proven.
  std::string Since() const;
  // The fences; the rest of the rule is for the caller to fill in.
  CoveredRule RuleOf(size_t table) const;

 private:
  std::optional<BirthRecord> record_;
  std::vector<bool> is_on_record_;  // by table
};

// That of a gap, whose name is its reason code: why nothing is deleted.
absl::Status NothingIsDeleted(const std::string& gap, const std::string& text);

}  // namespace walpost
