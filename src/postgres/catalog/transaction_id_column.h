// The column that says which transaction inserted a row, if a table has one
// (outbox.tables[].state.transaction_id).
#pragma once

#include <cstdint>
#include <string>

#include "outbox/options.h"

namespace walpost {

inline constexpr uint32_t kXid8Oid = 5069;  // its type
inline constexpr char kTransactionIdDefinition[] =
    "xid8 NOT NULL DEFAULT pg_current_xact_id()";

// True if a table has one.
bool HasTransactionIds(const OutboxOptions& outbox);

// For an operator: SQL that adds the configured column.
std::string AddTransactionIdSql(const TableOptions& table);

}  // namespace walpost
