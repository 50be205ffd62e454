// RowOrder: in which order rows that are read from a table were committed, as
// well as a column can tell.
//
// The WAL has the order of commits; a table does not. What follows it best, in
// this order:
//
//   the column that was named: --order-by, else outbox.tables.order_by
//   an id that is an integer
//   another column that counts: identity, serial
//   state.transaction_id (xid8)
//   a time: columns.timestamp, else created_at
//
// A uuid is not an order (one of version 7 cannot be told by its type), nor is
// a text: without anything else they are refused, because the events of a key
// would go out shuffled. Pure.
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
  std::string id_column;  // breaks ties; empty: there is none, or it is column
};

// `named`: by --order-by; empty: not given.
// kFailedPrecondition: there is no such column, or nothing to order by; names
// the remedy.
absl::StatusOr<RowOrder> ChooseRowOrder(const TableOptions& table,
                                        const std::vector<OrderColumn>& columns,
                                        const std::string& named);

// "a", b DESC, ...: for ORDER BY. Rows of one transaction have one time: those
// are ordered by the statement that inserted them, then by their place in the
// table.
std::string OrderBySql(const RowOrder& order);

}  // namespace walpost
