// The replication slot: what the server keeps for us, and how it stands.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "postgres/connection.h"

namespace walpost {

// A row of pg_replication_slots.
struct SlotState {
  std::string wal_status;  // reserved, extended, unreserved, lost
  bool active = false;
  bool failover = false;   // kept on standbys, too (17 and newer)
  bool two_phase = false;  // sends transactions when they are prepared
  Lsn restart_lsn;
  Lsn confirmed_flush_lsn;
};

// nullopt when there is no such slot. kFailedPrecondition: it belongs to
// another database of the server or another output plugin, or is a physical
// one; names that.
boost::asio::awaitable<absl::StatusOr<std::optional<SlotState>>> FindSlot(
    Connection& connection, std::string slot);

// Whether the server decodes, as an SQL expression. PostgreSQL 19 raises
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
// kUse: the transaction at hand shows exactly what commits before the slot.
enum class SlotSnapshot { kNone, kUse };
enum class SlotFailover { kNo, kYes };

// Creates a pgoutput slot on a replication connection. Returns its consistent
// point: what commits at or after it is delivered.
//
// It waits for every open transaction that has written something; `deadline`
// bounds that (kUnavailable names the remedy). kFailedPrecondition:
// failover wanted before PostgreSQL 17.
boost::asio::awaitable<absl::StatusOr<Lsn>> CreateSlot(
    Connection& connection, std::string slot, SlotKind kind,
    SlotSnapshot snapshot, SlotFailover failover, MonotonicTime deadline);

// Drops a slot that exists and that nobody uses.
boost::asio::awaitable<absl::Status> DropSlot(Connection& connection,
                                              std::string slot);

// The slot is kept on standbys, too, from now on. On a replication connection,
// PostgreSQL 17 and newer.
boost::asio::awaitable<absl::Status> SetFailover(Connection& connection,
                                                 std::string slot);

// `status` is an error of the statement that creates one: with the remedy where
// slots are exhausted, wal_level is too low, or the role may not replicate.
absl::Status ExplainSlotCreation(Connection& connection,
                                 const absl::Status& status);

// The SQL that takes `two_phase` from a slot that stays where it stands, for
// people: a copy never has it.
std::string DropTwoPhaseSql(std::string_view slot);

// The SQL that creates a permanent slot, for people.
std::string CreateSlotSql(std::string_view slot, SlotFailover failover);

}  // namespace walpost
