// The statements of a table of parked events (postgres/parking/parking_sql.h),
// by their words, and the answers of one that has no rows.
#pragma once

#include <optional>
#include <string>

#include "support/fake_postgres.h"

namespace walpost::testing {

// Words of the statements.
namespace parking {
inline constexpr char kDescribe[] = "LEFT JOIN pg_catalog.pg_class";
inline constexpr char kOid[] = "SELECT (SELECT c.oid";
inline constexpr char kLock[] = "pg_try_advisory_lock";
inline constexpr char kInUse[] = "SELECT EXISTS";
inline constexpr char kNoDigest[] = "digest = ''";
inline constexpr char kLoadLanes[] = "SELECT p.aggregate_type";
inline constexpr char kLoadTopics[] = "SELECT p.topic";
inline constexpr char kLoadSettled[] = "SELECT position, state, numbering";
inline constexpr char kInsert[] = "INSERT INTO";
inline constexpr char kReadBack[] = "SELECT position, digest, number, tableoid";
inline constexpr char kReadDead[] = "SELECT count(*) || '/'";
inline constexpr char kReadLanes[] =
    "SELECT aggregate_type, aggregate_id, count(*)";
inline constexpr char kReadTopics[] = "SELECT topic, count(*)";
inline constexpr char kSendable[] = "sendable AS";
inline constexpr char kRetries[] = "state = 'dead_letter_retry' ORDER";
inline constexpr char kNote[] = "SET sending_since = now()";
inline constexpr char kDelete[] = "DELETE FROM";
inline constexpr char kSettle[] = "dead_letter_retried";
}  // namespace parking

// Columns of kDescribe: oid, is a table, is durable, missing rights, hides
// rows, is current, is owner, may create, has events.
inline FakePostgres::Rows ParkingTableIsThere(
    const std::string& oid = "16421") {
  return {{oid, "t", "t", "", "f", "t", "t", "t", "t"}};
}
inline FakePostgres::Rows ParkingTableIsMissing() {
  const std::optional<std::string> null;
  return {{null, null, null, "", null, "f", null, "t", "f"}};
}

inline void AnswerEmptyParking(FakePostgres& server) {
  using namespace parking;
  server.Answer("pg_has_role(pubowner", {{"relay", "t"}});
  server.Answer(kDescribe, ParkingTableIsThere());
  server.Answer(kOid, {{"16421"}});
  server.Answer(kLock, {{"t"}});
  server.Answer("pg_advisory_lock", {{""}});
  server.Answer("pg_advisory_unlock", {{"t"}});
  server.Answer(kNoDigest, {});
  server.Answer(kInUse, {{"f"}});
  server.Answer(kLoadSettled, {});
  server.Answer(kLoadLanes, {});
  server.Answer(kLoadTopics, {});
  server.Answer(kReadDead, {{"0/0"}});
  server.Answer(kReadLanes, {});
  server.Answer(kReadTopics, {});
  server.Answer(kSendable, {});
  server.Answer(kRetries, {});
  server.Answer(kInsert, {});
  server.Answer(kDelete, {});
}

}  // namespace walpost::testing
