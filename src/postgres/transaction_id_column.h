// The column that says which transaction inserted a row, of tables that have
// one (outbox.tables[].state.transaction_id).
#pragma once

#include <cstdint>
#include <string>

#include "outbox/options.h"

namespace walpost {

inline constexpr uint32_t kXid8Oid = 5069;  // its type
inline constexpr char kTransactionIdDefinition[] =
    "xid8 NOT NULL DEFAULT pg_current_xact_id()";

// Whether a table has one.
bool HasTransactionIds(const OutboxOptions& outbox);

// For an operator: adds the column that the configuration names.
std::string AddTransactionIdSql(const TableOptions& table);

}  // namespace walpost
