#include "polling/lease_table.h"

#include "fmt/format.h"
#include "postgres/catalog/table_script.h"
#include "postgres/connect/quote.h"
#include "walpost_sql.h"

namespace walpost {
namespace {

constexpr std::string_view kDefaultLeaseTable = "public.walpost_leases";
// Beyond it the server would keep the keys out of line, where each version of
// them stays until a vacuum.
constexpr int kKeysOfAPiece = 200;
// A walpost that is idle keeps its pieces, and one that has ended leaves them.
constexpr std::string_view kEmptyPieceIsKept = "interval '1 day'";

}  // namespace

std::string LeaseTableScript(std::string_view lease_table) {
  return ScriptForTable(kSql_leases, kDefaultLeaseTable, lease_table);
}

std::string GrantLeaseTableSql(std::string_view lease_table,
                               std::string_view role) {
  return fmt::format(
      "{} {}", OneLine(LeaseTableScript(lease_table)),
      GrantOnTableSql("SELECT, INSERT, UPDATE, DELETE", lease_table, role));
}

LeaseTable::LeaseTable(std::string_view lease_table,
                       std::string_view polled_table, std::string_view holder,
                       std::chrono::milliseconds lease, const Quote& quote)
    : name_(QuoteQualifiedName(lease_table)),
      table_(quote(QuoteQualifiedName(polled_table)) + "::regclass"),
      holder_(quote(holder)),
      lease_(lease) {}

std::string LeaseTable::Ours() const {
  return fmt::format("l.outbox_table = {} AND l.holder = {}", table_, holder_);
}

std::string LeaseTable::Until() const {
  return fmt::format("now() + interval '{} ms'", lease_.count());
}

// Unlike a row or an advisory lock, it is waited for without a snapshot.
std::string LeaseTable::Lock() const {
  return fmt::format("LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE", name_);
}

// What the DELETE has not deleted is held: its holder has renewed it since.
std::string LeaseTable::Held() const {
  return fmt::format(
      "ended AS (\n  DELETE FROM {0} l WHERE l.outbox_table = {1} AND l.until "
      "<= now() - CASE WHEN l.keys = '{{}}' THEN {2} ELSE interval '0' END\n  "
      "RETURNING l.holder, l.piece),\nheld AS MATERIALIZED (\n  SELECT "
      "unnest(l.keys) AS key FROM {0} l WHERE l.outbox_table = {1} AND "
      "(l.holder, l.piece) NOT IN (SELECT holder, piece FROM ended)),\n",
      name_, table_, kEmptyPieceIsKept);
}

std::string LeaseTable::IsFree(std::string_view key) {
  return fmt::format("{} NOT IN (SELECT key FROM held)", key);
}

std::string LeaseTable::Hold(std::string_view key,
                             std::string_view part) const {
  return fmt::format(
      "leased AS (\n  INSERT INTO {} AS l SELECT {}, {}, place / {} + (SELECT "
      "coalesce(max(l.piece) + 1, 0) FROM {} l WHERE {} AND l.keys <> '{{}}'), "
      "{}, array_agg(key)\n  FROM (SELECT key, row_number() OVER () - 1 AS "
      "place FROM (SELECT DISTINCT {} AS key FROM {}) distinct_keys) numbered "
      "GROUP BY place / {}\n  ON CONFLICT (outbox_table, holder, piece) DO "
      "UPDATE SET until = excluded.until, keys = excluded.keys)",
      name_, table_, holder_, kKeysOfAPiece, name_, Ours(), Until(), key, part,
      kKeysOfAPiece);
}

std::string LeaseTable::Renewed() const {
  return fmt::format(
      "renewed AS (\n  UPDATE {} l SET until = {} WHERE {} AND l.keys <> "
      "'{{}}' RETURNING l.keys)",
      name_, Until(), Ours());
}

// Whoever deletes the lease waits for this lock, or this waits and finds none.
std::string LeaseTable::IsOurs(std::string_view key) const {
  return fmt::format(
      "EXISTS (SELECT FROM {} l WHERE {} AND {} = ANY (l.keys) FOR KEY SHARE)",
      name_, Ours(), key);
}

std::string LeaseTable::KeepOnly(std::string_view keys) const {
  const std::string kept =
      keys.empty() ? "'{}'"
                   : fmt::format(
                         "ARRAY (SELECT key FROM unnest(l.keys) AS key "
                         "WHERE key IN ({}))",
                         keys);
  return fmt::format("UPDATE {} l SET keys = {} WHERE {} AND l.keys <> '{{}}'",
                     name_, kept, Ours());
}

}  // namespace walpost
