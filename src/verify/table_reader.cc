#include "verify/table_reader.h"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/lsn.h"
#include "base/read_refusal.h"
#include "base/session_settings.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "outbox/base_types.h"
#include "outbox/row_origin.h"
#include "pgoutput/type_oid.h"
#include "walpost/v1/dead_letter.pb.h"

namespace walpost {
namespace {

constexpr int kRowsPerBatch = 10'000;
constexpr int kBinary = 1;
// Limit for decoding what a slot has not confirmed.
constexpr int kPeekMillis = 30'000;
// Limit for counting the rows of a table.
constexpr int kCountMillis = 20'000;

// Settings of the role, the database or the server must not change the result,
// or stop the reading. Settings that a server does not know are left out.
constexpr std::pair<const char*, const char*> kPinned[] = {
    {"row_security", "off"},
    {"search_path", "pg_catalog"},
    {"TimeZone", "UTC"},
    {"DateStyle", "ISO"},
    {"IntervalStyle", "postgres"},
    {"bytea_output", "hex"},
    {"extra_float_digits", "1"},
    {"xmlbinary", "base64"},
    {"standard_conforming_strings", "on"},
    {"default_transaction_deferrable", "off"},
    {"jit", "off"},
    {"lock_timeout", "0"},
    {"statement_timeout", "0"},
    {"transaction_timeout", "0"},
    {"idle_session_timeout", "0"},
    {"idle_in_transaction_session_timeout", "0"},
};

std::string_view Cell(const PGresult* result, int row, int column) {
  return {PQgetvalue(result, row, column),
          static_cast<size_t>(PQgetlength(result, row, column))};
}

std::optional<std::string> Text(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return std::nullopt;
  return std::string(Cell(result, row, column));
}

std::optional<int64_t> Number(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return std::nullopt;
  return std::strtoll(std::string(Cell(result, row, column)).c_str(), nullptr,
                      10);
}

// `state`: of sql/parked.sql.
Disposition DispositionOf(std::string_view state) {
  if (state.ends_with("discarded")) return Disposition::kDiscarded;
  return state.starts_with("dead_letter") ? Disposition::kDeadLetter
                                          : Disposition::kParked;
}

// Adds the digests of the lines `walpost: slot NAME skip 0/154F6A8/3 of system
// ... event=DIGEST ... why=...` of a comment.
void AddSkipped(std::string_view comment, std::string_view slot,
                std::set<std::string>& digests) {
  const std::string beginning = fmt::format("walpost: slot {} skip ", slot);
  constexpr std::string_view kDigest = "event=";
  std::istringstream lines{std::string(comment)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(beginning)) continue;
    std::istringstream words(line);
    for (std::string word; words >> word && !word.starts_with("why=");) {
      if (word.starts_with(kDigest)) {
        digests.insert(word.substr(kDigest.size()));
      }
    }
  }
}

// nullopt: the row has none, or not one that Kafka accepts.
std::optional<std::string> Topic(const PGresult* result, int row,
                                 const TopicTemplate& topic, int first) {
  std::vector<Value> values;
  for (size_t i = 0; i < topic.references().size(); ++i) {
    const int column = first + static_cast<int>(i);
    values.push_back(PQgetisnull(result, row, column) != 0
                         ? Value()
                         : Value(Cell(result, row, column)));
  }
  std::string name;
  if (!topic.Expand(values, name).ok()) return std::nullopt;
  return name;
}

// Makes an array literal: {"a","b"}, of bytea or of text. Ids that no text of
// Postgres can be are left out.
std::string ArrayOf(const std::vector<std::string>& ids, bool are_bytea) {
  std::string array = "{";
  for (const std::string& id : ids) {
    const bool is_text = IsUtf8(id) && id.find('\0') == std::string::npos;
    if (!are_bytea && !is_text) continue;
    array += array.size() > 1 ? ",\"" : "\"";
    const std::string text =
        are_bytea ? "\\x" + absl::BytesToHexString(id) : id;
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
    const ReloadableText& conninfo) {
  WALPOST_ASSIGN_OR_RETURN(const std::string now, conninfo.Read());
  // Keywords before dbname, which expands to the conninfo, are only defaults.
  // In this blocking call, the limit holds for each address.
  std::vector<const char*> keywords = {"connect_timeout"};
  std::vector<const char*> values = {"5"};
  for (const auto& [keyword, value] : kConnectionDefaults) {
    keywords.push_back(keyword);
    values.push_back(value);
  }
  keywords.insert(keywords.end(),
                  {"dbname", "application_name", "client_encoding", nullptr});
  values.insert(values.end(), {now.c_str(), "walpost:verify", "UTF8", nullptr});
  std::unique_ptr<TableReader> reader(
      new TableReader(PQconnectdbParams(keywords.data(), values.data(), 1)));
  if (PQstatus(reader->connection_.get()) != CONNECTION_OK) {
    return absl::UnavailableError(
        fmt::format("Postgres: {}", PQerrorMessage(reader->connection_.get())));
  }
  WALPOST_RETURN_IF_ERROR(reader->Pin());
  return reader;
}

absl::Status TableReader::Pin() {
  for (const auto& [name, value] : kPinned) {
    WALPOST_RETURN_IF_ERROR(
        Query(fmt::format("SELECT pg_catalog.set_config(name, {}, false) FROM "
                          "pg_catalog.pg_settings WHERE name = {}",
                          QuotedLiteral(value), QuotedLiteral(name)))
            .status());
  }
  return absl::OkStatus();
}

absl::Status TableReader::Refusal(const PGresult* result,
                                  const std::string& sql) const {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const absl::Status status = absl::FailedPreconditionError(
      fmt::format("Postgres: {} in: {}", PQresultErrorMessage(result), sql));
  if (sqlstate == nullptr || sqlstate != kSqlstatePrivilege) return status;
  return WithPrivilegeRemedy(
      absl::FailedPreconditionError(fmt::format(
          "Postgres: {}", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY))),
      table_, PQuser(connection_.get()), "SELECT");
}

absl::StatusOr<TableReader::Result> TableReader::Query(const std::string& sql) {
  Result result(PQexecParams(connection_.get(), sql.c_str(), 0, nullptr,
                             nullptr, nullptr, nullptr, kBinary),
                PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  return Refusal(result.get(), sql);
}

absl::StatusOr<std::vector<ColumnType>> TableReader::Columns(
    const std::string& table) {
  table_ = QuotedTableName(table);
  WALPOST_ASSIGN_OR_RETURN(
      const Result rows,
      Query(fmt::format(
          "SELECT a.attname::text, {}::bigint::text, (a.attidentity <> "
          "'' OR coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE "
          "'nextval(%', false))::text, (a.atttypid IN (20, 21, 23, 25, 114, "
          "1043, 2950, 3802))::text, (NOT a.attnotnull AND d.adbin IS NOT "
          "NULL)::text FROM pg_catalog.pg_attribute a LEFT JOIN "
          "pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = "
          "a.attnum WHERE a.attrelid = {}::regclass AND a.attnum > 0 AND NOT "
          "a.attisdropped ORDER BY a.attnum",
          BaseTypeSql("a.atttypid"), QuotedLiteral(QuotedTableName(table)))));
  std::vector<ColumnType> columns;
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    ColumnType column;
    column.name = Cell(rows.get(), row, 0);
    column.type_oid = static_cast<uint32_t>(
        std::strtoul(PQgetvalue(rows.get(), row, 1), nullptr, 10));
    column.is_bytea = column.type_oid == pgoutput::kByteaOid;
    column.counts = Cell(rows.get(), row, 2) == "true";
    column.casts_to_output = Cell(rows.get(), row, 3) == "true";
    column.has_default = Cell(rows.get(), row, 4) == "true";
    columns.push_back(std::move(column));
  }
  return columns;
}

absl::Status TableReader::Read(
    const TableOptions& table, const OutboxOptions& outbox,
    const std::string& sequence_column, const ConfirmedBy& confirmed_by,
    ComparedAs compared_as,
    const std::function<absl::Status(const ExpectedRecord&)>& take) {
  WALPOST_ASSIGN_OR_RETURN(const std::vector<ColumnType> columns,
                           Columns(table.name));
  WALPOST_ASSIGN_OR_RETURN(
      const ExpectationQuery query,
      ExpectationQuery::Create(table, outbox.route, columns, sequence_column,
                               confirmed_by, outbox.origin, compared_as));
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
      expected.topic = Topic(batch.get(), row, query.topic(),
                             ExpectationQuery::kFirstTopicValue);
      expected.key_is_known = query.knows_key();
      expected.key = Text(batch.get(), row, 1);
      expected.has_bytes_of_key = query.keeps_bytes_of_key();
      expected.value_is_known = query.knows_value();
      if (PQgetisnull(batch.get(), row, 2) == 0) {
        expected.value = Cell(batch.get(), row, 2);
      }
      expected.sequence = Number(batch.get(), row, 3);
      expected.row_order = Number(batch.get(), row, 5);
      expected.must_be_there = Cell(batch.get(), row, 4) == "true";
      expected.written = Number(batch.get(), row, 6);
      const std::optional<std::string> other = Text(batch.get(), row, 8);
      const RowOrigin origin = RowOriginOf(other);
      expected.is_of_other_origin = origin == RowOrigin::kOther;
      if (origin == RowOrigin::kUnknown) expected.is_of_other_origin.reset();
      expected.came_through =
          Cell(batch.get(), row, 7) == "true" && origin != RowOrigin::kOther;
      WALPOST_RETURN_IF_ERROR(take(expected));
    }
  }
  return Query("COMMIT").status();
}

absl::StatusOr<uint64_t> TableReader::CountUpdates(const std::string& table) {
  WALPOST_ASSIGN_OR_RETURN(
      const Result rows,
      Query(fmt::format(
          "SELECT coalesce(sum(pg_catalog.pg_stat_get_tuples_updated(relid)), "
          "0)::bigint::text FROM (SELECT relid FROM "
          "pg_catalog.pg_partition_tree({0}::regclass) UNION SELECT "
          "{0}::regclass) tree",
          QuotedLiteral(QuotedTableName(table)))));
  return static_cast<uint64_t>(Number(rows.get(), 0, 0).value_or(0));
}

absl::StatusOr<ExpectationQuery> TableReader::QueryOf(
    const TableOptions& table, const RouteOptions& route) {
  WALPOST_ASSIGN_OR_RETURN(const std::vector<ColumnType> columns,
                           Columns(table.name));
  return ExpectationQuery::Create(table, route, columns, "", {});
}

absl::StatusOr<std::set<std::string>> TableReader::FindTopics(
    const TableOptions& table, const RouteOptions& route) {
  WALPOST_ASSIGN_OR_RETURN(const ExpectationQuery query, QueryOf(table, route));
  WALPOST_ASSIGN_OR_RETURN(const Result rows, Query(query.topics_sql()));
  std::set<std::string> topics;
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    auto topic = Topic(rows.get(), row, query.topic(), 1);
    if (topic) topics.insert(*std::move(topic));
  }
  return topics;
}

absl::StatusOr<TableReader::ByTopic> TableReader::Group(
    const ExpectationQuery& query, const std::string& sql) {
  WALPOST_RETURN_IF_ERROR(
      Query(fmt::format("SET statement_timeout = {}", kCountMillis)).status());
  const absl::StatusOr<Result> rows = Query(sql);
  WALPOST_RETURN_IF_ERROR(Query("SET statement_timeout = 0").status());
  if (!rows.ok()) return rows.status();
  ByTopic counts;
  for (int row = 0; row < PQntuples(rows->get()); ++row) {
    const auto topic = Topic(rows->get(), row, query.topic(), 1);
    const auto count = Number(rows->get(), row, 0).value_or(0);
    if (topic) counts[*topic] += static_cast<uint64_t>(count);
  }
  return counts;
}

absl::StatusOr<TableReader::ByTopic> TableReader::CountOlder(
    const TableOptions& table, const RouteOptions& route, int64_t age_ms) {
  WALPOST_ASSIGN_OR_RETURN(const ExpectationQuery query, QueryOf(table, route));
  if (query.time_sql().empty()) return ByTopic();
  const std::string where = fmt::format(
      "{} < now() - {} * interval '1 millisecond'", query.time_sql(), age_ms);
  return Group(query, query.GroupedSql("count(*)", where));
}

absl::StatusOr<TableReader::ByTopic> TableReader::CountBytes(
    const TableOptions& table, const RouteOptions& route) {
  WALPOST_ASSIGN_OR_RETURN(const ExpectationQuery query, QueryOf(table, route));
  const std::string sum =
      fmt::format("coalesce(sum(octet_length({})), 0)", query.value_sql());
  return Group(query, query.GroupedSql(sum, ""));
}

absl::StatusOr<TableReader::ByTopic> TableReader::CountKeyless(
    const TableOptions& table, const RouteOptions& route) {
  WALPOST_ASSIGN_OR_RETURN(const ExpectationQuery query, QueryOf(table, route));
  return Group(query,
               query.GroupedSql("count(*)",
                                fmt::format("({}) IS NULL", query.key_sql())));
}

absl::StatusOr<std::vector<TableReader::Parked>> TableReader::ReadParked(
    const std::string& table, const std::string& slot) {
  WALPOST_ASSIGN_OR_RETURN(
      const Result found,
      Query(fmt::format("SELECT (to_regclass({}) IS NOT NULL)::text",
                        QuotedLiteral(QuotedTableName(table)))));
  std::vector<Parked> parked;
  if (Cell(found.get(), 0, 0) != "true") return parked;
  WALPOST_ASSIGN_OR_RETURN(
      const Result rows,
      Query(fmt::format(
          "SELECT state, aggregate_id, event FROM {} WHERE slot "
          "= {} AND state NOT IN ('released', 'dead_letter_retried')",
          QuotedTableName(table), QuotedLiteral(slot))));
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    const std::string_view bytes = Cell(rows.get(), row, 2);
    v1::DeadLetter event;
    if (!event.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::DataLossError(
          fmt::format("table {}: an event cannot be read", table));
    }
    Parked& entry = parked.emplace_back();
    if (event.has_id()) entry.id = event.id();
    if (event.has_aggregate_id()) entry.key = event.aggregate_id();
    entry.fate = DispositionOf(Cell(rows.get(), row, 0));
  }
  return parked;
}

absl::StatusOr<std::set<std::string>> TableReader::ReadSkipped(
    const std::string& slot) {
  WALPOST_ASSIGN_OR_RETURN(
      const Result rows,
      Query("SELECT obj_description(oid, 'pg_publication') FROM "
            "pg_catalog.pg_publication"));
  std::set<std::string> digests;
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    AddSkipped(Cell(rows.get(), row, 0), slot, digests);
  }
  return digests;
}

absl::StatusOr<std::vector<TableReader::Known>> TableReader::FindIds(
    const std::vector<std::string>& ids) {
  std::vector<Known> found;
  for (const ExpectationQuery& query : queries_) {
    const std::string array = ArrayOf(ids, query.has_bytea_ids());
    const char* parameters[] = {array.c_str()};
    const Result rows(
        PQexecParams(connection_.get(), query.lookup_sql().c_str(), 1, nullptr,
                     parameters, nullptr, nullptr, kBinary),
        PQclear);
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) {
      return Refusal(rows.get(), query.lookup_sql());
    }
    for (int row = 0; row < PQntuples(rows.get()); ++row) {
      found.push_back({std::string(Cell(rows.get(), row, 0)),
                       Topic(rows.get(), row, query.topic(), 1)});
    }
  }
  return found;
}

absl::StatusOr<std::optional<uint64_t>> TableReader::CountPending(
    const std::string& slot, const std::string& publication) {
  WALPOST_RETURN_IF_ERROR(
      Query(fmt::format("SET statement_timeout = {}", kPeekMillis)).status());
  // 'I': pgoutput/decoder.h.
  const std::string sql = fmt::format(
      "SELECT count(*)::text FROM "
      "pg_catalog.pg_logical_slot_peek_binary_changes({}, NULL, NULL, "
      "'proto_version', '1', 'publication_names', {}) WHERE get_byte(data, 0) "
      "= ascii('I')",
      QuotedLiteral(slot), QuotedLiteral(QuotedName(publication)));
  const Result rows(PQexec(connection_.get(), sql.c_str()), PQclear);
  WALPOST_RETURN_IF_ERROR(Query("SET statement_timeout = 0").status());
  if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) return std::nullopt;
  return static_cast<uint64_t>(*Number(rows.get(), 0, 0));
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
