#include "postgres/parking_sql.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "postgres/quote.h"
#include "postgres/relation_oid.h"
#include "postgres/table_script.h"
#include "walpost_sql.h"

namespace walpost {
namespace {

constexpr std::string_view kDefaultTable = "public.walpost_parked";
constexpr std::string_view kWaits = "state IN ('dead', 'waiting', 'retry')";
constexpr std::string_view kWaitsForKey =
    "state IN ('dead', 'waiting', 'retry') AND topic IS NULL";
constexpr std::string_view kWaitsForTopic =
    "state = 'waiting' AND topic IS NOT NULL";

std::string_view LaneColumns(LaneScope scope) {
  return scope == LaneScope::kTypeAndKey
             ? "aggregate_id, coalesce('=' || encode(aggregate_type, 'hex'), "
               "'')"
             : "aggregate_id, ''";
}

std::string Bytea(std::string_view bytes) {
  return fmt::format("'\\x{}'",
                     absl::BytesToHexString({bytes.data(), bytes.size()}));
}

// An event without a key can wait for its topic.
OwnValue KeyOf(const DeadLetter& content) {
  return content.aggregate_id.value_or("");
}

std::string Bytea(const OwnValue& value) {
  return value ? Bytea(std::string_view(*value)) : "NULL";
}

}  // namespace

std::string ParkingSql::Script(std::string_view table) {
  return ScriptForTable(kSql_parked, kDefaultTable, table);
}

std::string ParkingSql::Create(std::string_view table) {
  return OneLine(Script(table));
}

std::string ParkingSql::Grant(std::string_view table, std::string_view user) {
  return fmt::format(
      "{} GRANT USAGE ON SCHEMA {} TO {}; GRANT SELECT, INSERT, UPDATE, DELETE "
      "ON {} TO {};",
      Create(table), QuoteName(table.substr(0, table.find('.'))),
      QuoteName(user), QuoteQualifiedName(table), QuoteName(user));
}

std::string ParkingSql::Table() const {
  return QuoteQualifiedName(names_.table);
}

std::string ParkingSql::OfSlot() const {
  return fmt::format("slot = {}", quote_(names_.slot));
}

std::string ParkingSql::At(std::span<const ParkedPlace> places) const {
  std::map<std::string, std::vector<std::string>> positions;
  for (const ParkedPlace& place : places) {
    positions[place.system_identifier].push_back(quote_(place.position));
  }
  std::vector<std::string> groups;
  for (const auto& [cluster, of_cluster] : positions) {
    groups.push_back(fmt::format("system_identifier = {} AND position IN ({})",
                                 quote_(cluster),
                                 absl::StrJoin(of_cluster, ", ")));
  }
  return fmt::format("{} AND ({})", OfSlot(), absl::StrJoin(groups, " OR "));
}

std::string ParkingSql::Reason(std::string_view text) const {
  std::string reason(text);
  if (names_.ascii_only) {
    std::ranges::replace_if(
        reason, [](char c) { return (c & 0x80) != 0; }, '?');
  }
  return quote_(reason);
}

std::string ParkingSql::Exists() const {
  return fmt::format("SELECT {} IS NOT NULL",
                     RelationOidSql(quote_, names_.table));
}

// Slots are unique in a cluster, and locks are per database.
std::string ParkingSql::LockKey() const {
  return fmt::format("hashtextextended('walpost parked ' || {}, 0)",
                     quote_(names_.slot));
}

std::string ParkingSql::TryLock() const {
  return fmt::format("SELECT pg_try_advisory_lock({})", LockKey());
}

std::string ParkingSql::EndHolder() const {
  return fmt::format(
      "SELECT pg_terminate_backend(pid) FROM pg_catalog.pg_locks WHERE "
      "locktype = 'advisory' AND granted AND objsubid = 1 AND pid <> "
      "pg_backend_pid() AND database = (SELECT oid FROM pg_catalog.pg_database "
      "WHERE datname = current_database()) AND "
      "(classid::bigint << 32 | objid::bigint) = {}",
      LockKey());
}

std::string ParkingSql::LoadTopics() const {
  return fmt::format(
      "SELECT topic, min(place), max(place) FROM (SELECT topic, CASE "
      "system_identifier WHEN {} THEN position ELSE '' END AS place FROM {} "
      "WHERE {} AND {}) AS waiting GROUP BY 1",
      quote_(names_.system_identifier), Table(), OfSlot(), kWaitsForTopic);
}

std::string ParkingSql::LoadLanes() const {
  return fmt::format(
      "SELECT aggregate_type, aggregate_id, min(CASE system_identifier WHEN {} "
      "THEN position ELSE '' END) FROM {} WHERE {} AND {} GROUP BY 1, 2",
      quote_(names_.system_identifier), Table(), OfSlot(), kWaitsForKey);
}

std::string ParkingSql::LoadSettled(Lsn from, size_t limit) const {
  return fmt::format(
      "SELECT position, state FROM {} WHERE {} AND system_identifier = {} AND "
      "NOT {} AND position >= {} ORDER BY position LIMIT {}",
      Table(), OfSlot(), quote_(names_.system_identifier), kWaits,
      quote_(SortableText({from, 0})), limit);
}

std::string ParkingSql::Row(const ParkedEvent& event, size_t parameter,
                            bool has_letters) const {
  const DeadLetter& content = event.content;
  const bool is_letter = event.state == ParkedState::kLetter;
  const std::string& topic = is_letter ? content.topic : event.topic;
  std::string further;
  if (has_letters) {
    further = is_letter
                  ? fmt::format(", {}, {}, {}", Bytea(content.id),
                                Bytea(content.type), Bytea(content.headers))
                  : ", NULL, NULL, NULL";
  }
  return fmt::format(
      "({}, {}, '{}', '{}', {}, {}, ${}, {}, {}, {}, to_timestamp({}::float8 / "
      "1000000), {}{})",
      quote_(names_.slot), quote_(names_.system_identifier),
      SortableText(event.position), ToString(event.state),
      Bytea(content.aggregate_type), Bytea(KeyOf(content)), parameter,
      Bytea(std::string_view(EncodeParked(content))),
      quote_(content.error_class), Reason(content.reason),
      content.commit_time.time_since_epoch().count(),
      topic.empty() ? "NULL" : quote_(topic), further);
}

std::string ParkingSql::Insert(
    std::span<const ParkedEvent* const> events) const {
  // A table of an earlier release may lack the columns of dead letters.
  const bool has_letters =
      std::ranges::any_of(events, [](const ParkedEvent* event) {
        return event->state == ParkedState::kLetter;
      });
  std::string sql = fmt::format(
      "INSERT INTO {} (slot, system_identifier, position, state, "
      "aggregate_type, aggregate_id, payload, event, error_class, reason, "
      "committed_at, topic{}) VALUES ",
      Table(), has_letters ? ", id, type, headers" : "");
  for (size_t i = 0; i < events.size(); ++i) {
    if (i > 0) sql += ", ";
    sql += Row(*events[i], i + 1, has_letters);
  }
  return sql + " ON CONFLICT DO NOTHING";
}

std::string ParkingSql::ReadDead() const {
  return fmt::format(
      "SELECT count(*) || '/' || coalesce(sum(hashtextextended("
      "system_identifier || position, 0)), 0) FROM {} WHERE {} AND state = "
      "'dead'",
      Table(), OfSlot());
}

std::string ParkingSql::ReadLanes() const {
  return fmt::format(
      "SELECT aggregate_type, aggregate_id, count(*), count(*) FILTER (WHERE "
      "state = 'dead'), extract(epoch FROM now() - min(parked_at))::bigint "
      "FROM {} WHERE {} AND {} GROUP BY 1, 2",
      Table(), OfSlot(), kWaitsForKey);
}

std::string ParkingSql::ReadTopics(LaneScope scope,
                                   bool has_earlier_cluster) const {
  return fmt::format(
      "WITH held (key, type, first) AS MATERIALIZED (SELECT {lane}, "
      "min({place}) FROM {table} WHERE {slot} AND {key} GROUP BY 1, 2) "
      "SELECT topic, count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT 1 "
      "FROM held WHERE (key, type) = ({lane}) AND first < {place})), "
      "sum(octet_length(event) + coalesce(octet_length(payload), 0) + "
      "{overhead}), "
      "extract(epoch FROM now() - min(parked_at))::bigint FROM {table} WHERE "
      "{slot} AND {topic} GROUP BY 1",
      fmt::arg("lane", LaneColumns(scope)),
      fmt::arg("place", Place(has_earlier_cluster)), fmt::arg("table", Table()),
      fmt::arg("slot", OfSlot()), fmt::arg("key", kWaitsForKey),
      fmt::arg("overhead", ParkedEvent::kOverheadBytes),
      fmt::arg("topic", kWaitsForTopic));
}

// Without events of an earlier cluster, the order is that of the primary key.
std::string ParkingSql::Place(bool has_earlier_cluster) const {
  if (!has_earlier_cluster) return "position";
  return fmt::format(
      "(CASE system_identifier WHEN {} THEN '1' ELSE '0' END || position) "
      "COLLATE \"C\"",
      quote_(names_.system_identifier));
}

std::string ParkingSql::ReadSendable(const Sendable& wanted) const {
  const std::string place = Place(wanted.has_earlier_cluster);
  std::string through = SortableText(wanted.through);
  std::string rows = OfSlot();
  if (wanted.has_earlier_cluster) {
    through = "1" + through;
  } else {
    rows += fmt::format(" AND system_identifier = {}",
                        quote_(names_.system_identifier));
  }
  std::string first = "state = 'dead'";
  if (!wanted.topic.empty()) {
    rows += fmt::format(" AND topic = {}", quote_(wanted.topic));
    first = wanted.has_others ? kWaitsForKey : "false";
  } else if (wanted.has_others) {
    rows += " AND topic IS NULL";
    first = fmt::format("({} OR {})", first, kWaitsForTopic);
  }
  return fmt::format(
      "WITH held (key, type, first) AS (SELECT {lane}, min({place}) FROM "
      "{table} WHERE {slot} AND {first} GROUP BY 1, 2), "
      "sendable AS (SELECT system_identifier, position, event, payload, "
      "{place} AS place FROM {table} WHERE {rows} AND state IN "
      "('waiting', 'retry') AND {place} <= {through} AND NOT EXISTS (SELECT 1 "
      "FROM held WHERE (key, type) = ({lane}) AND first < {place}) ORDER BY "
      "{place} LIMIT {events}) "
      "SELECT system_identifier, position, event, payload FROM (SELECT *, "
      "sum(octet_length(coalesce(payload, ''))) OVER (ORDER BY place) AS total "
      "FROM sendable) AS summed WHERE total - octet_length(coalesce(payload, "
      "'')) < {bytes} ORDER BY place",
      fmt::arg("lane", LaneColumns(wanted.scope)), fmt::arg("place", place),
      fmt::arg("table", Table()), fmt::arg("slot", OfSlot()),
      fmt::arg("first", first), fmt::arg("rows", rows),
      fmt::arg("through", quote_(through)),
      fmt::arg("events", wanted.max_events),
      fmt::arg("bytes", wanted.max_bytes));
}

std::string ParkingSql::Release(std::span<const ParkedPlace> places) const {
  return fmt::format(
      "DELETE FROM {0} WHERE {1} AND state = 'waiting'; "
      "UPDATE {0} SET state = 'released' WHERE {1} AND state = 'retry'",
      Table(), At(places));
}

std::string ParkingSql::Fail(const ParkedPlace& place,
                             std::string_view error_class,
                             std::string_view reason) const {
  return fmt::format(
      "UPDATE {} SET state = 'dead', topic = NULL, error_class = {}, reason = "
      "{} WHERE {} "
      "AND state IN ('waiting', 'retry')",
      Table(), quote_(error_class), Reason(reason), At({&place, 1}));
}

std::string ParkingSql::List(Settled settled) const {
  const bool all = settled == Settled::kIncluded;
  return ListWhere(all ? "state NOT LIKE 'dead_letter%'" : kWaits);
}

std::string ParkingSql::ListWhere(std::string_view condition) const {
  return fmt::format(
      "SELECT system_identifier, position, state, error_class, reason, event, "
      "octet_length(payload), (extract(epoch FROM decided_at) * "
      "1000000)::bigint, decided_by, decided_why, topic FROM {} WHERE {} AND "
      "{} ORDER BY committed_at, position",
      Table(), OfSlot(), condition);
}

std::string ParkingSql::Payload(const ParkedPlace& place) const {
  return fmt::format("SELECT payload FROM {} WHERE {}", Table(),
                     At({&place, 1}));
}

std::string ParkingSql::States(std::span<const ParkedPlace> places) const {
  return fmt::format("SELECT state FROM {} WHERE {}", Table(), At(places));
}

std::string ParkingSql::Decide(std::span<const ParkedPlace> places,
                               ParkedState state, std::string_view by,
                               std::string_view why) const {
  return DecideAbout("dead", places, state, by, why);
}

std::string ParkingSql::DecideAbout(std::string_view from,
                                    std::span<const ParkedPlace> places,
                                    ParkedState state, std::string_view by,
                                    std::string_view why) const {
  return fmt::format(
      "UPDATE {} SET state = '{}', decided_at = now(), decided_by = {}, "
      "decided_why = {} WHERE {} AND state = '{}' RETURNING "
      "system_identifier, position",
      Table(), ToString(state), Reason(by), Reason(why), At(places), from);
}

}  // namespace walpost
