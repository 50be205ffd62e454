// OtherRelation: a published table that is not in outbox.tables, whose rows are
// passed over.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/lsn.h"

namespace walpost {

struct OtherRelation {
  uint32_t oid = 0;
  std::string_view name;  // schema.table; valid during the call
  Lsn commit_lsn;         // of the transaction with the row
};

}  // namespace walpost
