// TableReader: reads an outbox table, row by row, as the records that it should
// have become. Plain SQL over libpq, blocking; one connection.
#pragma once

#include <libpq-fe.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/reloadable_text.h"
#include "outbox/options.h"
#include "verify/audit_database.h"
#include "verify/expectation_query.h"
#include "verify/report.h"

namespace walpost {

class TableReader {
 public:
  // The session sees every row, or fails: row-level security is an error, with
  // its remedy. kUnavailable: Postgres is unreachable; says why.
  static absl::StatusOr<std::unique_ptr<TableReader>> Connect(
      const ReloadableText& conninfo);

  // Reads a table of `outbox` under one snapshot, in batches. `take` gets every
  // row; its value is valid during the call.
  absl::Status Read(
      const TableOptions& table, const OutboxOptions& outbox,
      const std::string& sequence_column, const ConfirmedBy& confirmed_by,
      ComparedAs compared_as,
      const std::function<absl::Status(const ExpectedRecord&)>& take);

  // Reads the parked events and the dead letters of a slot; none, if there is
  // no such table (sql/parked.sql).
  struct Parked {
    std::optional<std::string> id;
    std::optional<std::string> key;
    Disposition fate = Disposition::kParked;
  };
  absl::StatusOr<std::vector<Parked>> ReadParked(const std::string& table,
                                                 const std::string& slot);

  // Digests of the events that somebody has skipped (walpost skip), as the
  // comments of the publications say.
  absl::StatusOr<std::set<std::string>> ReadSkipped(const std::string& slot);

  // Updates of a table and its partitions, by the server's statistics.
  absl::StatusOr<uint64_t> CountUpdates(const std::string& table);

  // The topics of the table's rows.
  absl::StatusOr<std::set<std::string>> FindTopics(const TableOptions& table,
                                                   const RouteOptions& route);

  // For each topic of the table's rows: how many are older than `age_ms` by the
  // column that gives records their time, the size of their payloads, and how
  // many records have no key.
  // Errors, also of a limit of time, mean that it is not known.
  using ByTopic = std::map<std::string, uint64_t>;
  absl::StatusOr<ByTopic> CountOlder(const TableOptions& table,
                                     const RouteOptions& route, int64_t age_ms);
  absl::StatusOr<ByTopic> CountBytes(const TableOptions& table,
                                     const RouteOptions& route);
  absl::StatusOr<ByTopic> CountKeyless(const TableOptions& table,
                                       const RouteOptions& route);

  // The rows with one of `ids` that a table read before has by now, with their
  // topics.
  struct Known {
    std::string id;
    std::optional<std::string> topic;
  };
  absl::StatusOr<std::vector<Known>> FindIds(
      const std::vector<std::string>& ids);

  // The column that recover and the snapshot sort the rows of the last table
  // by; empty: none.
  const std::string& row_order() const { return queries_.back().row_order(); }
  // False if the values of the last table are not compared, or its keys.
  bool knows_value() const { return queries_.back().knows_value(); }
  bool knows_key() const { return queries_.back().knows_key(); }

  // Waits until the slot has confirmed all commits up to now, at most
  // `seconds`.
  absl::StatusOr<Report::Confirmed> WaitConfirmed(const std::string& slot,
                                                  int seconds);

  // Inserts of the publication that the slot has not confirmed; nullopt: they
  // cannot be counted, for example because the slot is in use.
  absl::StatusOr<std::optional<uint64_t>> CountPending(
      const std::string& slot, const std::string& publication);

 private:
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

  explicit TableReader(PGconn* connection)
      : connection_(connection, PQfinish) {}

  absl::Status Pin();
  absl::Status Refusal(const PGresult* result, const std::string& sql) const;
  absl::StatusOr<Result> Query(const std::string& sql);
  // For the topics of the rows, and what is counted by topic.
  absl::StatusOr<ExpectationQuery> QueryOf(const TableOptions& table,
                                           const RouteOptions& route);
  absl::StatusOr<ByTopic> Group(const ExpectationQuery& query,
                                const std::string& sql);
  absl::StatusOr<std::vector<ColumnType>> Columns(const std::string& table);

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  std::vector<ExpectationQuery> queries_;
  std::string table_;  // the current table, quoted for SQL
};

}  // namespace walpost
