#include "judge/table_reader.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/lsn.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr int kRowsPerBatch = 10'000;
constexpr int kBinary = 1;
constexpr std::string_view kByteaOid = "17";

std::string_view Cell(const PGresult* result, int row, int column) {
  return {PQgetvalue(result, row, column),
          static_cast<size_t>(PQgetlength(result, row, column))};
}

std::optional<std::string> Text(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return std::nullopt;
  return std::string(Cell(result, row, column));
}

// As an array literal: {"a","b"}.
std::string ArrayOf(const std::vector<std::string>& texts) {
  std::string array = "{";
  for (const std::string& text : texts) {
    array += array.size() > 1 ? ",\"" : "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
  return array + "}";
}

}  // namespace

absl::StatusOr<std::unique_ptr<TableReader>> TableReader::Connect(
    const std::string& conninfo) {
  const char* keywords[] = {"dbname", "application_name", "client_encoding",
                            nullptr};
  const char* values[] = {conninfo.c_str(), "walpost:verify", "UTF8", nullptr};
  std::unique_ptr<TableReader> reader(
      new TableReader(PQconnectdbParams(keywords, values, 1)));
  if (PQstatus(reader->connection_.get()) != CONNECTION_OK) {
    return absl::UnavailableError(
        fmt::format("Postgres: {}", PQerrorMessage(reader->connection_.get())));
  }
  return reader;
}

absl::StatusOr<TableReader::Result> TableReader::Query(const std::string& sql) {
  Result result(PQexecParams(connection_.get(), sql.c_str(), 0, nullptr,
                             nullptr, nullptr, nullptr, kBinary),
                PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  return absl::FailedPreconditionError(fmt::format(
      "Postgres: {} in: {}", PQresultErrorMessage(result.get()), sql));
}

absl::StatusOr<std::vector<ColumnType>> TableReader::Columns(
    const std::string& table) {
  WALPOST_ASSIGN_OR_RETURN(
      const Result rows,
      Query(fmt::format("SELECT attname::text, atttypid::bigint::text FROM "
                        "pg_catalog.pg_attribute WHERE attrelid = "
                        "{}::regclass AND attnum > 0 AND NOT attisdropped",
                        QuotedLiteral(QuotedTableName(table)))));
  std::vector<ColumnType> columns;
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    columns.push_back({std::string(Cell(rows.get(), row, 0)),
                       Cell(rows.get(), row, 1) == kByteaOid});
  }
  return columns;
}

absl::Status TableReader::Read(
    const TableOptions& table, const RouteOptions& route,
    const std::string& sequence_column, const ConfirmedBy& confirmed_by,
    const std::function<absl::Status(const ExpectedRecord&)>& take) {
  WALPOST_ASSIGN_OR_RETURN(const std::vector<ColumnType> columns,
                           Columns(table.name));
  WALPOST_ASSIGN_OR_RETURN(
      const ExpectationQuery query,
      ExpectationQuery::Create(table, route, columns, sequence_column,
                               confirmed_by));
  queries_.push_back(query);
  WALPOST_RETURN_IF_ERROR(
      Query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").status());
  WALPOST_RETURN_IF_ERROR(
      Query("DECLARE expected NO SCROLL CURSOR FOR " + query.sql()).status());
  for (;;) {
    WALPOST_ASSIGN_OR_RETURN(
        const Result batch,
        Query(fmt::format("FETCH {} FROM expected", kRowsPerBatch)));
    const int count = PQntuples(batch.get());
    if (count == 0) break;
    for (int row = 0; row < count; ++row) {
      ExpectedRecord expected;
      expected.id = Text(batch.get(), row, 0).value_or("");
      expected.topic = Text(batch.get(), row, 1);
      expected.key_is_known = true;
      expected.key = Text(batch.get(), row, 2);
      expected.value_is_known = query.knows_value();
      if (PQgetisnull(batch.get(), row, 3) == 0) {
        expected.value = Cell(batch.get(), row, 3);
      }
      if (const auto sequence = Text(batch.get(), row, 4)) {
        expected.sequence = std::strtoll(sequence->c_str(), nullptr, 10);
      }
      expected.must_be_there = Cell(batch.get(), row, 5) == "true";
      WALPOST_RETURN_IF_ERROR(take(expected));
    }
  }
  return Query("COMMIT").status();
}

absl::StatusOr<std::set<std::string>> TableReader::FindTopics(
    const TableOptions& table, const RouteOptions& route) {
  WALPOST_ASSIGN_OR_RETURN(const std::vector<ColumnType> columns,
                           Columns(table.name));
  WALPOST_ASSIGN_OR_RETURN(
      const ExpectationQuery query,
      ExpectationQuery::Create(table, route, columns, "", {}));
  WALPOST_ASSIGN_OR_RETURN(const Result rows, Query(query.topics_sql()));
  std::set<std::string> topics;
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    topics.emplace(Cell(rows.get(), row, 0));
  }
  return topics;
}

absl::StatusOr<std::vector<std::string>> TableReader::FindIds(
    const std::vector<std::string>& ids) {
  const std::string array = ArrayOf(ids);
  const char* parameters[] = {array.c_str()};
  std::vector<std::string> found;
  for (const ExpectationQuery& query : queries_) {
    const Result rows(
        PQexecParams(connection_.get(), query.lookup_sql().c_str(), 1, nullptr,
                     parameters, nullptr, nullptr, kBinary),
        PQclear);
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) {
      return absl::FailedPreconditionError(
          fmt::format("Postgres: {}", PQresultErrorMessage(rows.get())));
    }
    for (int row = 0; row < PQntuples(rows.get()); ++row) {
      found.emplace_back(Cell(rows.get(), row, 0));
    }
  }
  return found;
}

absl::StatusOr<Report::Confirmed> TableReader::WaitConfirmed(
    const std::string& slot, int seconds) {
  using Confirmed = Report::Confirmed;
  WALPOST_ASSIGN_OR_RETURN(const Result now,
                           Query("SELECT pg_current_wal_insert_lsn()::text"));
  WALPOST_ASSIGN_OR_RETURN(const Lsn next, Lsn::Parse(Cell(now.get(), 0, 0)));
  const std::string goal = EndOfWal(next).ToString();
  const std::string sql = fmt::format(
      "SELECT (confirmed_flush_lsn >= {}::pg_lsn)::text FROM "
      "pg_catalog.pg_replication_slots WHERE slot_name = {}",
      QuotedLiteral(goal), QuotedLiteral(slot));
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    WALPOST_ASSIGN_OR_RETURN(const Result rows, Query(sql));
    if (PQntuples(rows.get()) == 0) return Confirmed::kNeverWill;
    if (Cell(rows.get(), 0, 0) == "true") return Confirmed::kAll;
    if (std::chrono::steady_clock::now() >= deadline) return Confirmed::kNotAll;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace walpost
