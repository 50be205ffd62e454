// First PostgreSQL versions that know something, as PQserverVersion counts.
#pragma once

namespace walpost {

// CREATE_REPLICATION_SLOT with options in parentheses.
inline constexpr int kFirstWithSlotOptions = 150000;
// Column lists, row filters and TABLES IN SCHEMA of publications.
inline constexpr int kFirstWithColumnLists = 150000;
// Stored generated columns in publications.
inline constexpr int kFirstWithGeneratedColumns = 180000;
inline constexpr int kFirstWithFailover = 170000;
inline constexpr int kFirstWithTransactionTimeout = 170000;

}  // namespace walpost
