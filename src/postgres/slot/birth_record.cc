#include "postgres/slot/birth_record.h"

#include <algorithm>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/publication_comment.h"

namespace walpost {

namespace asio = boost::asio;

// A transaction without an id when the slot exists commits after the slot.
asio::awaitable<absl::StatusOr<BirthRecord>> DescribeBirth(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables, std::string slot,
    Lsn consistent_point) {
  // Before the transaction id, so that a change between the two is noticed.
  WALPOST_CO_ASSIGN_OR_RETURN(
      Coverage coverage,
      co_await ReadCoverage(connection, publication, tables));
  const std::string sql =
      "SELECT system_identifier, pg_catalog.pg_snapshot_xmax("
      "pg_catalog.pg_current_snapshot()), ceil(extract(epoch FROM "
      "clock_timestamp()))::bigint, ('x' || left(pg_catalog.pg_walfile_name("
      "pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::bigint FROM "
      "pg_catalog.pg_control_system()";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  BirthRecord record;
  record.slot = std::move(slot);
  record.consistent_point = consistent_point;
  record.system_identifier = rows.Text(0, 0);
  record.streamed_from = rows.Unsigned(0, 1);
  record.born_at = WallTime(std::chrono::seconds(rows.Integer(0, 2)));
  record.timeline = static_cast<uint32_t>(rows.Unsigned(0, 3));
  record.coverage = coverage.ToString();
  record.added.emplace();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> before,
      co_await ReadBirthRecord(connection, publication, record.slot));
  if (before) record.parked_table = before->parked_table;
  co_return record;
}

asio::awaitable<absl::StatusOr<std::optional<BirthRecord>>> ReadBirthRecord(
    Connection& connection, std::string publication, std::string slot) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<std::string> comments,
      co_await ReadPublicationComments(connection, std::move(publication)));
  for (const std::string& comment : comments) {
    const auto record = FindBirthRecord(comment, slot);
    if (record) co_return record;
  }
  co_return std::nullopt;
}

asio::awaitable<absl::StatusOr<std::string>> BirthRecordSql(
    Connection& connection, std::string publication, BirthRecord record) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::string comment,
      co_await ReadPublicationComment(connection, publication));
  const std::string text = WithBirthRecord(comment, record);
  co_return PublicationCommentSql(connection, publication, text);
}

asio::awaitable<absl::Status> WriteBirthRecord(Connection& connection,
                                               std::string publication,
                                               BirthRecord record) {
  const CommentChange change = [&record](std::string_view comment) {
    return WithBirthRecord(comment, record);
  };
  co_return co_await ChangePublicationComment(connection,
                                              std::move(publication), change);
}

asio::awaitable<absl::StatusOr<std::optional<std::vector<uint32_t>>>>
RecordPassedOver(Connection& connection, std::string publication,
                 std::string slot, PassedOver passed_over) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> record,
      co_await ReadBirthRecord(connection, publication, slot));
  if (!record) co_return std::vector<uint32_t>();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const PublicationRights rights,
      co_await FindPublicationRights(connection, publication));
  if (!rights.may_alter) {
    co_return TableOids(Coverage::Parse(CoverageOf(*record, Announced::kYes)));
  }
  const CommentChange change =
      [&](std::string_view comment) -> absl::StatusOr<std::string> {
    BirthRecord now = FindBirthRecord(comment, slot).value_or(*record);
    now.coverage = WithPassedOver(now.coverage, passed_over);
    return WithBirthRecord(comment, now);
  };
  const absl::Status written =
      co_await ChangePublicationComment(connection, publication, change);
  if (!written.ok()) co_return written;
  co_return std::nullopt;
}

asio::awaitable<absl::Status> RecordLetterTopic(Connection& connection,
                                                std::string publication,
                                                std::string slot,
                                                std::string topic) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> record,
      co_await ReadBirthRecord(connection, publication, slot));
  if (!record) co_return absl::NotFoundError("the slot is not on record");
  if (std::ranges::count(record->letter_topics, topic) > 0) {
    co_return absl::OkStatus();
  }
  const CommentChange change = [&](std::string_view comment) {
    return WithLetterTopic(comment, slot, topic).value_or(std::string(comment));
  };
  co_return co_await ChangePublicationComment(connection, publication, change);
}

asio::awaitable<absl::StatusOr<RecordFence>> ReadFence(Connection& connection) {
  const std::string sql =
      "SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()), "
      "ceil(extract(epoch FROM clock_timestamp()))::bigint";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  RecordFence fence;
  fence.transaction = rows.Unsigned(0, 0);
  fence.time = WallTime(std::chrono::seconds(rows.Integer(0, 1)));
  co_return fence;
}

asio::awaitable<absl::Status> RequireBirthRecord(Connection& connection,
                                                 std::string publication,
                                                 BirthRecord record,
                                                 std::string consequence) {
  const absl::Status written =
      co_await WriteBirthRecord(connection, publication, record);
  if (!absl::IsFailedPrecondition(written)) co_return written;
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::string sql,
      co_await BirthRecordSql(connection, publication, record));
  co_return absl::FailedPreconditionError(
      fmt::format("{}, because the role of walpost does not own publication {} "
                  "and cannot put it on record; as the owner run: {};",
                  consequence, publication, sql));
}

}  // namespace walpost
