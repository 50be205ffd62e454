// RowOrder: the closest order to commit order for rows of a table.
//
// The WAL has the order of commits; a table does not. The best available, in
// this order:
//
//   the configured column: --order-by, else outbox.tables.order_by
//   an id that is an integer
//   another column that counts: identity, serial
//   state.transaction_id (xid8)
//   a time: columns.timestamp, else created_at
//
// A uuid has no order (version 7 cannot be recognised by its type), nor has a
// text: without another column they are rejected, because the events of a key
// would be sent shuffled. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"

namespace walpost {

inline constexpr uint32_t kTransactionIdOid = 5069;  // xid8

struct OrderColumn {
  std::string name;
  uint32_t type_oid = 0;
  bool counts = false;  // identity, or its default is nextval()
};

struct RowOrder {
  enum class Kind { kNamed, kCounter, kTransaction, kTime };
  Kind kind = Kind::kNamed;
  std::string column;
  std::string id_column;  // breaks ties; empty: none, or it is column
};

// `named`: from --order-by; empty: not given. kFailedPrecondition: there is no
// such column, or none to order by; names the remedy.
absl::StatusOr<RowOrder> ChooseRowOrder(const TableOptions& table,
                                        const std::vector<OrderColumn>& columns,
                                        const std::string& named);

// "a", b DESC, ...: for ORDER BY. Rows of one transaction have the same time:
// these are ordered by the statement that inserted them, then by their place in
// the table.
std::string OrderBySql(const RowOrder& order);

}  // namespace walpost
