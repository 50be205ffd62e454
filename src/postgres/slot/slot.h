// The replication slot: its state, creation and removal.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "postgres/connect/connection.h"

namespace walpost {

// A row of pg_replication_slots.
struct SlotState {
  std::string wal_status;           // reserved, extended, unreserved, lost
  std::string invalidation_reason;  // DescribeInvalidation
  bool active = false;
  bool failover = false;   // synchronised to standbys (17 and newer)
  bool two_phase = false;  // sends transactions when they are prepared
  Lsn restart_lsn;
  Lsn confirmed_flush_lsn;
};

// nullopt: there is no such slot. kFailedPrecondition: it belongs to another
// database of the server or to another output plugin, or is physical; the
// message says which.
boost::asio::awaitable<absl::StatusOr<std::optional<SlotState>>> FindSlot(
    Connection& connection, std::string slot);

// SQL expression: true if the server decodes. PostgreSQL 19 raises
// effective_wal_level with the first logical slot, so replica is enough there.
inline constexpr std::string_view kDecodesSql =
    "(current_setting('wal_level') = 'logical' OR "
    "current_setting('wal_level') = 'replica' AND "
    "current_setting('effective_wal_level', true) IS NOT NULL)";
inline constexpr std::string_view kWalLevelRemedy =
    "ALTER SYSTEM SET wal_level = logical; then restart the server";
inline constexpr std::string_view kFreeSlotRemedy =
    "drop a slot that nobody uses (SELECT slot_name, active, restart_lsn FROM "
    "pg_replication_slots; SELECT pg_drop_replication_slot('...');), or raise "
    "max_replication_slots and restart the server";

enum class SlotKind { kPermanent, kTemporary };
// kUse: the open transaction shows exactly what commits before the slot.
enum class SlotSnapshot { kNone, kUse };
enum class SlotFailover { kNo, kYes };

// Creates a pgoutput slot on a replication connection. Returns its consistent
// point: transactions that commit at or after it are delivered.
//
// It waits for every open transaction that has written, at most until
// `deadline` (kUnavailable names the remedy). kFailedPrecondition: failover
// requested before PostgreSQL 17.
boost::asio::awaitable<absl::StatusOr<Lsn>> CreateSlot(
    Connection& connection, std::string slot, SlotKind kind,
    SlotSnapshot snapshot, SlotFailover failover, MonotonicTime deadline);

// Drops an existing slot that is not in use.
boost::asio::awaitable<absl::Status> DropSlot(Connection& connection,
                                              std::string slot);

// Synchronises the slot to standbys from now on. Needs a replication
// connection, and PostgreSQL 17 or newer.
boost::asio::awaitable<absl::Status> SetFailover(Connection& connection,
                                                 std::string slot);

// Adds the remedy to an error `status` of slot creation: slots are exhausted,
// wal_level is too low, or the role may not replicate.
boost::asio::awaitable<absl::Status> ExplainSlotCreation(Connection& connection,
                                                         absl::Status status);

// SQL, for people, that removes `two_phase` from a slot and keeps its position:
// a copy never has the flag.
std::string DropTwoPhaseSql(std::string_view slot);

// SQL, for people, that creates a permanent slot.
std::string CreateSlotSql(std::string_view slot, SlotFailover failover);

}  // namespace walpost
