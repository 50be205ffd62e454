// The answers of a server that a stream of slot `orders` can begin on, for an
// outbox of messages only: system 77, timeline 3, the slot at 0/200, its birth
// on record at 0/150.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/birth_record.h"
#include "support/fake_postgres.h"

namespace walpost::testing {

// Words of the statements.
namespace wal_source {
inline constexpr char kIdentify[] = "IDENTIFY_SYSTEM";
inline constexpr char kSlot[] = "pg_replication_slots slot";
inline constexpr char kComments[] = "obj_description";
inline constexpr char kComment[] = "COMMENT ON PUBLICATION";
inline constexpr char kCoverage[] = "LEFT JOIN tables wanted";
inline constexpr char kRights[] = "pg_has_role(pubowner";
inline constexpr char kSettings[] = "current_setting('wal_level')";
inline constexpr char kPublication[] = "SELECT pubinsert";
inline constexpr char kBirth[] = "SELECT system_identifier, pg_catalog";
inline constexpr char kFence[] = "SELECT pg_catalog.pg_snapshot_xmax";
inline constexpr char kCreate[] = "CREATE_REPLICATION_SLOT";
inline constexpr char kPeek[] = "pg_logical_slot_peek_binary_changes";
inline constexpr char kStart[] = "START_REPLICATION";
// Of the side session.
inline constexpr char kSystem[] = "SELECT system_identifier FROM";
inline constexpr char kCreation[] = "confirmed_flush_lsn IS NULL";
inline constexpr char kReport[] = "g.wal_status = 'lost'";
inline constexpr char kDigest[] = "SELECT p.* FROM";
inline constexpr char kPartitions[] = "pg_partition_tree(outbox.relation)";
}  // namespace wal_source

inline FakePostgres::Rows SlotAt(const std::string& confirmed,
                                 const std::string& is_active = "f",
                                 const std::string& status = "reserved") {
  return {{"pgoutput", status, is_active, "0/100", confirmed, "f", "f", "d",
           "d", "logical", std::nullopt}};
}

inline std::string BirthOfOrders(ParkedTable parked = {}) {
  BirthRecord record;
  record.slot = "orders";
  record.consistent_point = Lsn(0x150);
  record.system_identifier = "77";
  record.timeline = 3;
  record.coverage = "16388:690,*=passed";
  record.added.emplace();
  record.parked_table = std::move(parked);
  return WithBirthRecord("", record);
}

// A report of the side session, in the order of its statement.
inline FakePostgres::Row SideReport() {
  return {"0/500",  "111", "extended", "222",   "0/300", "0/280",
          "333",    "444", "f",        "0/510", "745",   "6000000",
          "orders", "f",   "t",        "3"};
}

inline void AnswerWalSource(FakePostgres& server) {
  using namespace wal_source;
  const std::optional<std::string> null;
  server.Answer("SELECT 1 FROM pg_catalog.pg_publication", {{"1"}});
  server.Answer(kIdentify, {{"77", "3", "0/500", "d"}});
  server.Answer(kSlot, SlotAt("0/200"));
  server.Answer(kComments, {{BirthOfOrders()}});
  server.Answer(kCoverage, {{"16388:690", null, null}});
  server.Answer(kRights, {{"relay", "t"}});
  server.Answer(kSettings, {{"logical", "50GB", "on", "", "3", "3", "relay",
                             "t", "f", "t", "t"}});
  server.Answer("min(schemaname", {{"0", null}});
  server.Answer("p.pubupdate", {});
  server.Answer(kPublication, {{"t", "t", "insert", "f"}});
  server.Answer("SELECT u.oid", {});
  server.Answer(kBirth, {{"77", "745", "1700000000", "3"}});
  server.Answer(kFence, {{"745", "1700000000"}});
  server.Answer("pg_advisory_lock", {{""}});
  server.Answer("pg_advisory_unlock", {{"t"}});
  server.Answer(kCreate, {{"orders", "0/300", null, "pgoutput"}});
  server.Answer(kPeek, {});
  server.Answer(kSystem, {{"77"}});
  server.Answer("SELECT system_identifier, current_user", {{"77", "relay"}});
  server.Answer(kDigest, {{"1 2 3"}});
  server.Answer(kCreation, {});
  server.Answer(kReport, {SideReport()});
  server.Answer(kPartitions, {});
}

}  // namespace walpost::testing
