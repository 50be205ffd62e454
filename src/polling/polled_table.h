// PolledTable: an outbox table as a poller sees it: how to identify rows, their
// order, and which rows must be sent one after the other.
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
  std::string id_type;  // as SQL; empty: that of a literal will do
  // Order within an aggregate: `order_by`, else the id.
  std::string order;
  // An integer distinguishes rows of an aggregate; a clock may not, so then the
  // id comes second.
  bool order_has_ties = false;
  // Aggregate type and id, if they are columns. Empty: no row waits for
  // another.
  std::vector<std::string> aggregate;

  // Column with a row's time; empty: none.
  std::string timestamp;

  // Columns of `state` with an index that finds rows that have a value there.
  std::vector<std::string> found_by;

  // Maximum characters in state.last_error; 0: unlimited.
  size_t longest_error = 0;

  std::string name() const { return schema.QualifiedName(); }
};

// kFailedPrecondition: the table has no id, or not the column to order by;
// names it and the key.
absl::StatusOr<PolledTable> MakePolledTable(
    const TableOptions& options, const pgoutput::RelationSchema& schema);

}  // namespace walpost
