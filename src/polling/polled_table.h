// PolledTable: an outbox table as a poller sees it. Which row is which, which
// comes first, and which rows must go out one after the other.
//
// Pure; a value.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "pgoutput/relation_schema.h"

namespace walpost {

struct PolledTable {
  pgoutput::RelationSchema schema;
  RowStateOptions state;

  // Columns, not quoted.
  std::string id;
  // Rows of an aggregate go out in this order: `order_by`, else the id.
  std::string order;
  // An integer tells rows of an aggregate apart; a clock may not, so there the
  // id comes second.
  bool order_has_ties = false;
  // Aggregate type and id, as far as they are columns. Empty: no row waits for
  // another.
  std::vector<std::string> aggregate;

  // The column that says how old a row is; empty: none.
  std::string timestamp;

  // Columns of `state` that an index finds the rows by that have a value there.
  std::vector<std::string> found_by;

  // Characters that state.last_error takes; 0: any number.
  size_t longest_error = 0;

  std::string name() const { return schema.QualifiedName(); }
};

// kFailedPrecondition: the table has no id, or not the column to order by;
// names it and the key.
absl::StatusOr<PolledTable> MakePolledTable(
    const TableOptions& options, const pgoutput::RelationSchema& schema);

}  // namespace walpost
