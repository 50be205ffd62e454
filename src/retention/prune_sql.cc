#include "retention/prune_sql.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/sql_name.h"
#include "base/xid.h"
#include "fmt/format.h"

namespace walpost {

namespace {

// The next transaction id: younger than all ids that the statement sees. A
// subquery is evaluated once, not for every row.
constexpr char kNextTransaction[] =
    "(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)";
// Largest offset of a time zone on Earth from UTC.
constexpr char kFarthestZone[] = "interval '14 hours'";

// Number of transactions since `xid`, an SQL expression of type xid.
std::string AgeSql(std::string_view xid) {
  return fmt::format("(({} - {}::text::bigint) & 4294967295)", kNextTransaction,
                     xid);
}

std::string TimeFenceSql(const CoveredRule& rule) {
  const auto born_at = std::chrono::ceil<std::chrono::seconds>(rule.born_at);
  const std::string time =
      fmt::format("to_timestamp({})", born_at.time_since_epoch().count());
  if (rule.time_has_zone) {
    return fmt::format("{} >= {}", rule.time_column, time);
  }
  return fmt::format("{} >= {} AT TIME ZONE 'UTC' + {}", rule.time_column, time,
                     kFarthestZone);
}

// Younger than each link to the partition. NULL, so nothing is proven, if the
// partition is detached now.
std::string AttachFenceSql(uint64_t partition) {
  return fmt::format(
      "{0} < (SELECT min({1}) FROM pg_catalog.pg_inherits i WHERE i.inhrelid "
      "IN (SELECT pg_catalog.pg_partition_ancestors({2}::oid::regclass) UNION "
      "SELECT relid FROM pg_catalog.pg_partition_tree({2}::oid::regclass)) "
      "HAVING bool_or(i.inhrelid = {2}))",
      AgeSql("xmin"), AgeSql("i.xmin"), partition);
}

// An UPDATE makes a row young. So nothing is proven for a partition that was
// created in one transaction and attached in another one since the birth: it
// may have had rows in between.
std::string MadeAttachedSql(const CoveredRule& rule) {
  return fmt::format(
      "NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i JOIN "
      "pg_catalog.pg_class c ON c.oid = i.inhrelid JOIN pg_catalog.pg_type t "
      "ON t.oid = c.reltype WHERE i.inhrelid = {} AND i.xmin <> t.xmin AND {} "
      "<= {} - {})",
      rule.partition, AgeSql("i.xmin"), kNextTransaction, rule.streamed_from);
}

// A rewrite, too, such as SET UNLOGGED and back, which Postgres allows for a
// partition: rows that it wrote are not proven. A table that was never
// rewritten is stored under its oid.
std::string RewriteFenceSql(uint64_t partition) {
  return fmt::format(
      "coalesce({} < (SELECT {} FROM pg_catalog.pg_class c WHERE c.oid = {} "
      "AND "
      "c.relfilenode <> c.oid), true)",
      AgeSql("xmin"), AgeSql("c.xmin"), partition);
}

std::string ProvenSql(const CoveredRule& rule) {
  if (rule.streamed_from == 0) return "false";
  std::vector<std::string> fences;
  if (rule.streamed_from > kFirstTransaction) {  // else there is no fence
    fences.push_back("xmin::text::bigint >= 3");
    fences.push_back(fmt::format("{} <= {} - {}", AgeSql("xmin"),
                                 kNextTransaction, rule.streamed_from));
  }
  if (rule.born_at > WallTime()) fences.push_back(TimeFenceSql(rule));
  if (rule.partition != 0) {
    fences.push_back(AttachFenceSql(rule.partition));
    fences.push_back(MadeAttachedSql(rule));
    fences.push_back(RewriteFenceSql(rule.partition));
  }
  if (!rule.origin_is_unknown.empty()) {
    fences.push_back(fmt::format("NOT ({})", rule.origin_is_unknown));
  }
  return fences.empty() ? "true" : absl::StrJoin(fences, " AND ");
}

}  // namespace

std::string CommittedBeforeSql(std::string_view oldest_running) {
  // A mark two billion transactions old would count as a young one.
  return fmt::format(
      "age('{0}'::xid8::xid) >= 0 AND "
      "(age(xmin) > age('{0}'::xid8::xid) OR age(xmin) < 0)",
      oldest_running);
}

std::string CoveredSql(const CoveredRule& rule) {
  std::string proven = ProvenSql(rule);
  if (rule.assumed_before.empty() || proven == "true") return proven;
  return fmt::format("({}) OR {} < '{}'::timestamptz", proven, rule.time_column,
                     rule.assumed_before);
}

std::string PublishedSql(const RowStateOptions& state,
                         const std::string& published_literal) {
  if (!state.status.empty()) {
    return fmt::format("{} = {}", QuoteName(state.status), published_literal);
  }
  return fmt::format("{} IS NOT NULL", QuoteName(state.published_at));
}

std::string DeleteBatchSql(const PruneRule& rule, std::string_view from,
                           size_t rows) {
  const std::string begin =
      from.empty()
          ? ""
          : fmt::format("{} >= '{}'::timestamptz AND ", rule.time_column, from);
  return fmt::format(
      "WITH batch AS MATERIALIZED (SELECT ctid AS place, {1} AS time "
      "FROM ONLY {0} o WHERE {2}{1} < '{3}'::timestamptz AND ({4}) "
      "ORDER BY {1} LIMIT {5}), "
      "gone AS (DELETE FROM ONLY {0} AS old USING batch "
      "WHERE old.ctid = batch.place RETURNING batch.time) "
      "SELECT count(*), max(time)::text FROM gone",
      rule.table, rule.time_column, begin, rule.limit, rule.sent, rows);
}

std::string CountOldSql(const PruneRule& rule) {
  return fmt::format(
      "SELECT count(*) FILTER (WHERE {0}), "
      "count(*) FILTER (WHERE ({0}) IS NOT TRUE), "
      "count(*) FILTER (WHERE ({4}) IS NOT TRUE) "
      "FROM ONLY {1} o WHERE {2} < '{3}'::timestamptz",
      rule.sent, rule.table, rule.time_column, rule.limit, rule.covered);
}

std::string CountUnsentSql(const PruneRule& rule) {
  return fmt::format(
      "SELECT count(*) FILTER (WHERE {0}), "
      "count(*) FILTER (WHERE ({0}) IS NOT TRUE), "
      "count(*) FILTER (WHERE ({1}) IS NOT TRUE) FROM {2} o",
      rule.sent, rule.covered, rule.table);
}

std::string UnsentInPagesSql(const PruneRule& rule, uint64_t from,
                             uint64_t to) {
  return fmt::format(
      "SELECT EXISTS (SELECT FROM {} o WHERE ctid >= '({},0)' AND "
      "ctid < '({},0)' AND ({}) IS NOT TRUE)",
      rule.table, from, to, rule.sent);
}

}  // namespace walpost
