#include "postgres/checkpoint/checkpoint_sql.h"

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/table_script.h"
#include "postgres/connect/quote.h"
#include "walpost_sql.h"

namespace walpost {
namespace {

constexpr std::string_view kDefaultTable = "public.walpost_checkpoint";

absl::Status Unreadable(std::string_view column, std::string_view text) {
  return absl::DataLossError(fmt::format("its {} is '{}'", column, text));
}

absl::StatusOr<Lsn> ParseLsn(std::string_view column, const std::string& text) {
  absl::StatusOr<Lsn> lsn = Lsn::Parse(text);
  if (!lsn.ok()) return Unreadable(column, text);
  return lsn;
}

template <typename Integer>
absl::StatusOr<Integer> ParseInteger(std::string_view column,
                                     const std::string& text) {
  Integer value = 0;
  if (!absl::SimpleAtoi(text, &value)) return Unreadable(column, text);
  return value;
}

}  // namespace

std::string CheckpointTableScript(std::string_view table) {
  return ScriptForTable(kSql_checkpoint, kDefaultTable, table);
}

std::string CreateCheckpointTableSql(std::string_view table) {
  return OneLine(CheckpointTableScript(table));
}

std::string AlterCheckpointTableSql(std::string_view table) {
  return fmt::format(
      "ALTER TABLE {} ADD COLUMN IF NOT EXISTS numbering bigint NOT NULL "
      "DEFAULT 0, ADD COLUMN IF NOT EXISTS transaction_horizon xid8 NOT NULL "
      "DEFAULT '0', ADD COLUMN IF NOT EXISTS server_started_at timestamptz "
      "NOT NULL DEFAULT 'epoch', "
      "ADD COLUMN IF NOT EXISTS commit_xid bigint NOT NULL DEFAULT 0, "
      "ADD COLUMN IF NOT EXISTS commit_time timestamptz NOT NULL DEFAULT "
      "'epoch', ADD COLUMN IF NOT EXISTS coverage text NOT NULL DEFAULT '', "
      "ADD COLUMN IF NOT EXISTS kafka_cluster text NOT NULL DEFAULT '', "
      "ADD COLUMN IF NOT EXISTS gap text NOT NULL DEFAULT '', "
      "ADD COLUMN IF NOT EXISTS {} text NOT NULL DEFAULT ''",
      QuoteQualifiedName(table), kNewestCheckpointColumn);
}

std::string GrantCheckpointTableSql(std::string_view table,
                                    std::string_view user) {
  return fmt::format("{} {}; {}", CreateCheckpointTableSql(table),
                     AlterCheckpointTableSql(table),
                     GrantOnTableSql("SELECT, INSERT, UPDATE", table, user));
}

std::string LoadCheckpointSql(std::string_view table, std::string_view slot,
                              const QuoteLiteral& quote) {
  return fmt::format(
      "SELECT slot, system_identifier, timeline, birth, confirmed, commit_lsn, "
      "ordinal, numbering, transaction_horizon, "
      "(extract(epoch FROM server_started_at) * 1000000)::bigint, "
      "(extract(epoch FROM written_at) * 1000000)::bigint, commit_xid, "
      "(extract(epoch FROM commit_time) * 1000000)::bigint, coverage, "
      "kafka_cluster, gap, kafka_topics "
      "FROM {} WHERE slot = {}",
      QuoteQualifiedName(table), quote(slot));
}

std::string SaveCheckpointSql(std::string_view table,
                              const Checkpoint& checkpoint,
                              const QuoteLiteral& quote) {
  return fmt::format(
      "INSERT INTO {} AS stored (slot, system_identifier, timeline, birth, "
      "confirmed, commit_lsn, ordinal, numbering, transaction_horizon, "
      "server_started_at, written_at, commit_xid, commit_time, coverage, "
      "kafka_cluster, gap, kafka_topics) "
      "VALUES ({}, {}, {}, '{}', '{}', '{}', {}, {}, '{}', "
      "timestamptz 'epoch' + {} * interval '1 microsecond', "
      "timestamptz 'epoch' + {} * interval '1 microsecond', {}, "
      "timestamptz 'epoch' + {} * interval '1 microsecond', {}, {}, {}, {}) "
      "ON CONFLICT (slot) DO UPDATE SET "
      "system_identifier = excluded.system_identifier, "
      "timeline = excluded.timeline, birth = excluded.birth, "
      "confirmed = excluded.confirmed, commit_lsn = excluded.commit_lsn, "
      "ordinal = excluded.ordinal, numbering = excluded.numbering, "
      "transaction_horizon = excluded.transaction_horizon, "
      "server_started_at = excluded.server_started_at, "
      "written_at = excluded.written_at, commit_xid = excluded.commit_xid, "
      "commit_time = excluded.commit_time, coverage = excluded.coverage, "
      "kafka_cluster = excluded.kafka_cluster, gap = excluded.gap, "
      "kafka_topics = excluded.kafka_topics "
      "WHERE stored.system_identifier <> excluded.system_identifier "
      "OR (stored.numbering <> excluded.numbering "
      "AND (stored.timeline, stored.birth, stored.confirmed) "
      "<= (excluded.timeline, excluded.birth, excluded.confirmed)) "
      "OR (stored.timeline, stored.birth, stored.confirmed, "
      "stored.commit_lsn, stored.ordinal) <= (excluded.timeline, "
      "excluded.birth, excluded.confirmed, excluded.commit_lsn, "
      "excluded.ordinal) RETURNING true",
      QuoteQualifiedName(table), quote(checkpoint.slot),
      quote(checkpoint.system_identifier), checkpoint.timeline,
      checkpoint.birth.ToString(), checkpoint.confirmed.ToString(),
      checkpoint.position.commit_lsn.ToString(), checkpoint.position.ordinal,
      checkpoint.numbering, checkpoint.horizon.transaction_id,
      checkpoint.horizon.server_started_at.time_since_epoch().count(),
      checkpoint.written_at.time_since_epoch().count(),
      checkpoint.commit_xid.value(),
      checkpoint.commit_time.time_since_epoch().count(),
      quote(checkpoint.coverage), quote(checkpoint.kafka_cluster),
      quote(checkpoint.gap), quote(checkpoint.kafka_topics));
}

absl::StatusOr<Checkpoint> ParseCheckpointRow(const CheckpointRow& row) {
  Checkpoint checkpoint;
  checkpoint.slot = row.slot;
  checkpoint.system_identifier = row.system_identifier;
  WALPOST_ASSIGN_OR_RETURN(checkpoint.timeline,
                           ParseInteger<uint32_t>("timeline", row.timeline));
  WALPOST_ASSIGN_OR_RETURN(checkpoint.birth, ParseLsn("birth", row.birth));
  WALPOST_ASSIGN_OR_RETURN(checkpoint.confirmed,
                           ParseLsn("confirmed", row.confirmed));
  WALPOST_ASSIGN_OR_RETURN(checkpoint.position.commit_lsn,
                           ParseLsn("commit_lsn", row.commit_lsn));
  WALPOST_ASSIGN_OR_RETURN(checkpoint.position.ordinal,
                           ParseInteger<uint64_t>("ordinal", row.ordinal));
  WALPOST_ASSIGN_OR_RETURN(checkpoint.numbering,
                           ParseInteger<uint64_t>("numbering", row.numbering));
  WALPOST_ASSIGN_OR_RETURN(
      checkpoint.horizon.transaction_id,
      ParseInteger<uint64_t>("transaction_horizon", row.transaction_horizon));
  WALPOST_ASSIGN_OR_RETURN(
      const int64_t started,
      ParseInteger<int64_t>("server_started_at", row.server_started_at));
  checkpoint.horizon.server_started_at =
      WallTime(std::chrono::microseconds(started));
  WALPOST_ASSIGN_OR_RETURN(const int64_t micros,
                           ParseInteger<int64_t>("written_at", row.written_at));
  checkpoint.written_at = WallTime(std::chrono::microseconds(micros));
  WALPOST_ASSIGN_OR_RETURN(
      const uint32_t xid, ParseInteger<uint32_t>("commit_xid", row.commit_xid));
  checkpoint.commit_xid = Xid(xid);
  WALPOST_ASSIGN_OR_RETURN(
      const int64_t committed,
      ParseInteger<int64_t>("commit_time", row.commit_time));
  checkpoint.commit_time = WallTime(std::chrono::microseconds(committed));
  checkpoint.coverage = row.coverage;
  checkpoint.kafka_cluster = row.kafka_cluster;
  checkpoint.gap = row.gap;
  checkpoint.kafka_topics = row.kafka_topics;
  return checkpoint;
}

}  // namespace walpost
