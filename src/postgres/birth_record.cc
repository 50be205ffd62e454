#include "postgres/birth_record.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "postgres/publication.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::string ToLine(const BirthRecord& record) {
  return fmt::format("walpost: slot {} born at {} of system {}", record.slot,
                     record.consistent_point.ToString(),
                     record.system_identifier);
}

std::optional<BirthRecord> ParseLine(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words.size() != 9 || words[0] != "walpost:" || words[1] != "slot" ||
      words[3] != "born" || words[7] != "system") {
    return std::nullopt;
  }
  const auto lsn = Lsn::Parse(words[5]);
  if (!lsn.ok()) return std::nullopt;
  return BirthRecord{words[2], *lsn, words[8]};
}

asio::awaitable<absl::StatusOr<std::string>> ReadComment(
    Connection& connection, std::string publication) {
  const std::string sql = fmt::format(
      "SELECT obj_description(oid, 'pg_publication') FROM "
      "pg_catalog.pg_publication WHERE pubname = {}",
      connection.Literal(publication));
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  co_return rows->size() == 0 ? std::string() : rows->Text(0, 0);
}

}  // namespace

std::optional<BirthRecord> FindBirthRecord(std::string_view comment,
                                           std::string_view slot) {
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(comment), '\n');
  for (const std::string& line : lines) {
    std::optional<BirthRecord> record = ParseLine(line);
    if (record && record->slot == slot) return record;
  }
  return std::nullopt;
}

std::string WithBirthRecord(std::string_view comment,
                            const BirthRecord& record) {
  std::vector<std::string> kept;
  if (!comment.empty()) {
    const std::vector<std::string> lines =
        absl::StrSplit(std::string(comment), '\n');
    for (const std::string& line : lines) {
      const std::optional<BirthRecord> other = ParseLine(line);
      if (!other || other->slot != record.slot) kept.push_back(line);
    }
  }
  kept.push_back(ToLine(record));
  return absl::StrJoin(kept, "\n");
}

asio::awaitable<absl::StatusOr<std::optional<BirthRecord>>> ReadBirthRecord(
    Connection& connection, std::string publication, std::string slot) {
  absl::StatusOr<std::string> comment =
      co_await ReadComment(connection, publication);
  if (!comment.ok()) co_return comment.status();
  co_return FindBirthRecord(*comment, slot);
}

asio::awaitable<absl::StatusOr<std::string>> BirthRecordSql(
    Connection& connection, std::string publication, BirthRecord record) {
  absl::StatusOr<std::string> comment =
      co_await ReadComment(connection, publication);
  if (!comment.ok()) co_return comment.status();
  const std::string text = WithBirthRecord(*comment, record);
  co_return fmt::format("COMMENT ON PUBLICATION {} IS {}",
                        QuoteName(publication), connection.Literal(text));
}

asio::awaitable<absl::Status> WriteBirthRecord(Connection& connection,
                                               std::string publication,
                                               BirthRecord record) {
  absl::StatusOr<std::string> sql =
      co_await BirthRecordSql(connection, publication, record);
  if (!sql.ok()) co_return sql.status();
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(*sql);
  co_return rows.status();
}

asio::awaitable<absl::Status> RequireBirthRecord(Connection& connection,
                                                 std::string publication,
                                                 BirthRecord record,
                                                 std::string consequence) {
  const absl::Status written =
      co_await WriteBirthRecord(connection, publication, record);
  if (!absl::IsFailedPrecondition(written)) co_return written;
  absl::StatusOr<std::string> sql =
      co_await BirthRecordSql(connection, publication, record);
  if (!sql.ok()) co_return sql.status();
  co_return absl::FailedPreconditionError(fmt::format(
      "{}, for the role of walpost does not own publication {} and cannot put "
      "it on record; as the owner run: {};",
      consequence, publication, *sql));
}

}  // namespace walpost
