#include "postgres/parking/parking_sql.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "parking/parked_codec.h"
#include "postgres/catalog/table_script.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/relation_oid.h"
#include "walpost_sql.h"

namespace walpost {
namespace {

constexpr std::string_view kDefaultParkingTable = "public.walpost_parked";
// Columns that tables of earlier releases lack.
constexpr std::array<std::string_view, 7> kAddedColumns = {
    "id", "type", "headers", "number", "numbering", "digest", "sending_since"};
constexpr std::string_view kWaits = "state IN ('dead', 'waiting', 'retry')";
constexpr std::string_view kIsParked =
    "state IN ('dead', 'waiting', 'retry', 'released', 'discarded')";
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
  return ScriptForTable(kSql_parked, kDefaultParkingTable, table);
}

std::string ParkingSql::Create(std::string_view table) {
  return OneLine(Script(table));
}

std::string ParkingSql::Grant(std::string_view table, std::string_view user) {
  return fmt::format(
      "{} {}", Create(table),
      GrantOnTableSql("SELECT, INSERT, UPDATE, DELETE", table, user));
}

std::string ParkingSql::Table() const {
  return QuoteQualifiedName(names_.table);
}

std::string ParkingSql::OfSlot() const {
  return fmt::format("slot = {}", quote_(names_.slot));
}

std::string ParkingSql::OfSystem() const {
  return fmt::format("{} AND system_identifier = {}", OfSlot(),
                     quote_(names_.system_identifier));
}

std::string ParkingSql::At(std::span<const ParkedNumber> rows) const {
  return fmt::format("{} AND number IN ({})", OfSlot(), fmt::join(rows, ", "));
}

std::string ParkingSql::Reason(std::string_view text) const {
  std::string reason(text);
  if (names_.ascii_only) {
    std::ranges::replace_if(
        reason, [](char c) { return (c & 0x80) != 0; }, '?');
  }
  return quote_(reason);
}

std::string ParkingSql::Describe() const {
  const std::string_view table = names_.table;
  return fmt::format(
      "SELECT c.oid, c.relkind IN ('r', 'p'), c.relpersistence = 'p', "
      "array_to_string(ARRAY(SELECT 'USAGE of its schema' WHERE NOT "
      "has_schema_privilege(c.relnamespace, 'USAGE') UNION ALL SELECT "
      "privilege FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS "
      "privilege WHERE NOT has_table_privilege(c.oid, privilege)), ', '), "
      "row_security_active(c.oid), (SELECT count(*) = {} AND "
      "coalesce(bool_or(attname = 'number' AND attidentity <> ''), false) FROM "
      "pg_catalog.pg_attribute WHERE attrelid = c.oid AND attname IN ({}) AND "
      "NOT attisdropped), pg_has_role(c.relowner, 'USAGE'), "
      "coalesce((SELECT has_schema_privilege(n.oid, 'CREATE') FROM "
      "pg_catalog.pg_namespace n WHERE n.nspname = {}), false), (SELECT "
      "count(*) = 4 FROM pg_catalog.pg_attribute WHERE attrelid = c.oid AND "
      "attname IN ('slot', 'position', 'state', 'event') AND NOT attisdropped) "
      "FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_class c ON c.oid = {}",
      kAddedColumns.size(),
      fmt::format("'{}'", fmt::join(kAddedColumns, "', '")),
      quote_(table.substr(0, table.find('.'))), RelationOidSql(quote_, table));
}

std::string ParkingSql::Oid() const {
  return fmt::format("SELECT {}", RelationOidSql(quote_, names_.table));
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

std::string ParkingSql::IsInUse(Lsn from) const {
  return fmt::format(
      "SELECT EXISTS (SELECT 1 FROM {0} WHERE {1} AND (state IN ('dead', "
      "'waiting', 'retry', 'dead_letter_retry'))) OR EXISTS (SELECT 1 FROM {0} "
      "WHERE {2} AND position >= {3})",
      Table(), OfSlot(), OfSystem(), quote_(SortableText({from, 0})));
}

std::string ParkingSql::ReadWithoutDigest(Lsn from, size_t limit) const {
  return fmt::format(
      "SELECT number, event, payload FROM {} WHERE {} AND position >= {} AND "
      "digest = '' ORDER BY position LIMIT {}",
      Table(), OfSystem(), quote_(SortableText({from, 0})), limit);
}

std::string ParkingSql::SetDigests(
    std::span<const std::pair<ParkedNumber, std::string>> digests) const {
  std::string values;
  for (const auto& [number, digest] : digests) {
    values += fmt::format("{}({}::bigint, {})", values.empty() ? "" : ", ",
                          number, quote_(digest));
  }
  return fmt::format(
      "UPDATE {} AS p SET digest = given.digest FROM (VALUES {}) AS given "
      "(number, digest) WHERE p.number = given.number",
      Table(), values);
}

// `row`: an alias.
std::string ParkingSql::FirstOf(std::string_view row, Lsn from) const {
  return fmt::format(
      "{0}.system_identifier = {1}, {0}.numbering = {2}, {0}.position, "
      "{0}.digest, CASE WHEN {0}.numbering <> {2} AND {0}.position >= {3} THEN "
      "{0}.event END",
      row, quote_(names_.system_identifier), names_.numbering,
      quote_(SortableText({from, 0})));
}

std::string ParkingSql::LoadLanes(Lsn from) const {
  return fmt::format(
      "SELECT p.aggregate_type, p.aggregate_id, {} FROM (SELECT (min({}))[2] "
      "AS number FROM {} WHERE {} AND {} GROUP BY aggregate_type, "
      "aggregate_id) AS first JOIN {} p ON p.number = first.number::bigint "
      "ORDER BY p.system_identifier = {}, p.position",
      FirstOf("p", from), PlaceAndNumber(), Table(), OfSlot(), kWaitsForKey,
      Table(), quote_(names_.system_identifier));
}

std::string ParkingSql::LoadTopics(Lsn from) const {
  return fmt::format(
      "SELECT p.topic, {}, l.system_identifier = {}, l.numbering = {}, "
      "l.position FROM (SELECT (min({}))[2] AS first, (max({}))[2] AS last "
      "FROM {} WHERE {} AND {} GROUP BY topic) AS ends JOIN {} p ON p.number = "
      "ends.first::bigint JOIN {} l ON l.number = ends.last::bigint",
      FirstOf("p", from), quote_(names_.system_identifier), names_.numbering,
      PlaceAndNumber(), PlaceAndNumber(), Table(), OfSlot(), kWaitsForTopic,
      Table(), Table());
}

std::string ParkingSql::LoadSettled(Lsn from, size_t limit) const {
  return fmt::format(
      "SELECT position, state, numbering = {}, digest, number FROM {} WHERE {} "
      "AND NOT {} AND position >= {} ORDER BY position, number LIMIT {}",
      names_.numbering, Table(), OfSystem(), kWaits,
      quote_(SortableText({from, 0})), limit);
}

std::string ParkingSql::Row(const ParkedEvent& event, size_t parameter) const {
  const DeadLetter& content = event.content;
  const bool is_letter = event.state == ParkedState::kLetter;
  const std::string& topic = is_letter ? content.topic : event.topic;
  const std::string further =
      is_letter ? fmt::format("{}, {}, {}", Bytea(content.id),
                              Bytea(content.type), Bytea(content.headers))
                : "NULL, NULL, NULL";
  return fmt::format(
      "({}, {}, '{}', {}, '{}', '{}', {}, {}, ${}, {}, {}, {}, "
      "to_timestamp({}::float8 / 1000000), {}, {})",
      quote_(names_.slot), quote_(names_.system_identifier),
      SortableText(event.position), names_.numbering, event.digest,
      ToString(event.state), Bytea(content.aggregate_type),
      Bytea(KeyOf(content)), parameter,
      Bytea(std::string_view(EncodeParked(content))),
      quote_(content.error_class), Reason(content.reason),
      content.commit_time.time_since_epoch().count(),
      topic.empty() ? "NULL" : quote_(topic), further);
}

std::string ParkingSql::HasOtherNumbering(Lsn from) const {
  return fmt::format(
      "SELECT EXISTS (SELECT 1 FROM {} WHERE {} AND position >= {} AND "
      "numbering <> {} AND {})",
      Table(), OfSystem(), quote_(SortableText({from, 0})), names_.numbering,
      kWaits);
}

// Equal events of a transaction take the rows in their order. An event that has
// a row in this numbering takes none.
std::string ParkingSql::Renumber(
    std::span<const ParkedEvent* const> events) const {
  std::string shown;
  for (const ParkedEvent* event : events) {
    shown += fmt::format("{}('{}', '{}')", shown.empty() ? "" : ", ",
                         SortableText(event->position), event->digest);
  }
  return fmt::format(
      "WITH shown AS (SELECT position, left(position, 16) AS commit, digest, "
      "row_number() OVER (PARTITION BY left(position, 16), digest ORDER BY "
      "position) AS nth FROM (VALUES {shown}) AS v (position, digest) WHERE "
      "NOT EXISTS (SELECT 1 FROM {table} t WHERE {system} AND t.position = "
      "v.position AND t.numbering = {numbering})), stored AS (SELECT number, "
      "left(position, 16) AS commit, digest, row_number() OVER (PARTITION BY "
      "left(position, 16), digest ORDER BY number) AS nth FROM {table} WHERE "
      "{system} AND position >= '{first}' AND numbering <> {numbering} AND "
      "{waits}) UPDATE {table} AS t SET position = shown.position, numbering = "
      "{numbering} FROM shown JOIN stored USING (commit, digest, nth) WHERE "
      "t.number = stored.number",
      fmt::arg("shown", shown), fmt::arg("table", Table()),
      fmt::arg("system", OfSystem()), fmt::arg("numbering", names_.numbering),
      fmt::arg("first", SortableText({events.front()->position.commit_lsn, 0})),
      fmt::arg("waits", kWaits));
}

std::string ParkingSql::Insert(
    std::span<const ParkedEvent* const> events) const {
  std::string sql = fmt::format(
      "INSERT INTO {} (slot, system_identifier, position, numbering, digest, "
      "state, aggregate_type, aggregate_id, payload, event, error_class, "
      "reason, committed_at, topic, id, type, headers) VALUES ",
      Table());
  for (size_t i = 0; i < events.size(); ++i) {
    if (i > 0) sql += ", ";
    sql += Row(*events[i], i + 1);
  }
  return sql + " ON CONFLICT DO NOTHING";
}

std::string ParkingSql::ReadBack(
    std::span<const ParkedEvent* const> events) const {
  const auto [first, last] = std::ranges::minmax(
      events, {}, [](const ParkedEvent* event) { return event->position; });
  return fmt::format(
      "SELECT position, digest, number, tableoid FROM {} WHERE {} AND "
      "numbering = {} AND position BETWEEN '{}' AND '{}'",
      Table(), OfSystem(), names_.numbering, SortableText(first->position),
      SortableText(last->position));
}

std::string ParkingSql::ReadDead() const {
  return fmt::format(
      "SELECT count(*) || '/' || coalesce(sum(hashint8extended("
      "number, 0)), 0) FROM {} WHERE {} AND state = "
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

// Without events of an earlier cluster, the order is that of an index.
std::string ParkingSql::Place(bool has_earlier_cluster) const {
  if (!has_earlier_cluster) return "position";
  return fmt::format(
      "(CASE system_identifier WHEN {} THEN '1' ELSE '0' END || position) "
      "COLLATE \"C\"",
      quote_(names_.system_identifier));
}

std::string ParkingSql::PlaceAndNumber() const {
  return fmt::format("ARRAY[{}, number::text]", Place(true));
}

// The stream has passed all of an earlier cluster, and of a transaction whose
// events were counted otherwise if it has passed the whole transaction.
std::string ParkingSql::ReadSendable(const Sendable& wanted) const {
  const std::string place = Place(wanted.has_earlier_cluster);
  const std::string through = SortableText(wanted.through);
  std::string rows = fmt::format(
      "position <= {} AND (numbering = {} OR position < {})", quote_(through),
      names_.numbering, quote_(through.substr(0, through.find('-'))));
  if (wanted.has_earlier_cluster) {
    rows = fmt::format("{} AND (system_identifier <> {} OR {})", OfSlot(),
                       quote_(names_.system_identifier), rows);
  } else {
    rows = fmt::format("{} AND {}", OfSystem(), rows);
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
      "sendable AS (SELECT number, system_identifier, position, event, "
      "payload, {place} AS place FROM {table} WHERE {rows} AND state IN "
      "('waiting', 'retry') AND NOT EXISTS (SELECT 1 FROM held WHERE (key, "
      "type) = ({lane}) AND first < {place}) ORDER BY {place}, number LIMIT "
      "{events}) "
      "SELECT number, system_identifier, position, event, payload FROM (SELECT "
      "*, sum(octet_length(coalesce(payload, ''))) OVER (ORDER BY place, "
      "number) AS total FROM sendable) AS summed WHERE total - "
      "octet_length(coalesce(payload, '')) < {bytes} ORDER BY place, number",
      fmt::arg("lane", LaneColumns(wanted.scope)), fmt::arg("place", place),
      fmt::arg("table", Table()), fmt::arg("slot", OfSlot()),
      fmt::arg("first", first), fmt::arg("rows", rows),
      fmt::arg("events", wanted.max_events),
      fmt::arg("bytes", wanted.max_bytes));
}

std::string ParkingSql::NoteSending(std::span<const ParkedNumber> rows) const {
  return fmt::format(
      "UPDATE {} SET sending_since = now() WHERE {} AND state IN ('waiting', "
      "'retry', 'dead_letter_retry') RETURNING number, "
      "has_table_privilege(tableoid, 'DELETE')",
      Table(), At(rows));
}

std::string ParkingSql::Release(std::span<const ParkedNumber> rows) const {
  return fmt::format(
      "DELETE FROM {0} WHERE {1} AND state = 'waiting'; "
      "UPDATE {0} SET state = 'released' WHERE {1} AND state IN ('retry', "
      "'discarded')",
      Table(), At(rows));
}

std::string ParkingSql::Fail(ParkedNumber row, std::string_view error_class,
                             std::string_view reason) const {
  return fmt::format(
      "UPDATE {} SET state = 'dead', sending_since = NULL, topic = NULL, "
      "error_class = {}, reason = {} WHERE {} "
      "AND state IN ('waiting', 'retry')",
      Table(), quote_(error_class), Reason(reason), At({&row, 1}));
}

std::string ParkingSql::List(Settled settled) const {
  const bool all = settled == Settled::kIncluded;
  return ListWhere(all ? kIsParked : kWaits);
}

std::string ParkingSql::ListWhere(std::string_view condition) const {
  return fmt::format(
      "SELECT number, position, state, error_class, reason, event, "
      "octet_length(payload), (extract(epoch FROM decided_at) * "
      "1000000)::bigint, decided_by, decided_why, topic, system_identifier, "
      "digest, state IN ('discarded', 'dead_letter_discarded') AND "
      "sending_since IS NOT NULL FROM {} WHERE {} AND {} ORDER BY "
      "committed_at, position, number",
      Table(), OfSlot(), condition);
}

std::string ParkingSql::Payload(ParkedNumber row) const {
  return fmt::format("SELECT payload FROM {} WHERE {}", Table(), At({&row, 1}));
}

std::string ParkingSql::States(std::span<const ParkedNumber> rows) const {
  return fmt::format("SELECT state FROM {} WHERE {}", Table(), At(rows));
}

std::string ParkingSql::Decide(std::span<const ParkedNumber> rows,
                               ParkedState state, std::string_view by,
                               std::string_view why) const {
  const bool takes_back = state == ParkedState::kDiscarded;
  return DecideAbout(takes_back ? "'dead', 'retry'" : "'dead'", rows, state, by,
                     why);
}

std::string ParkingSql::DecideAbout(std::string_view from,
                                    std::span<const ParkedNumber> rows,
                                    ParkedState state, std::string_view by,
                                    std::string_view why) const {
  return fmt::format(
      "UPDATE {} SET state = '{}', decided_at = now(), decided_by = {}, "
      "decided_why = {} WHERE {} AND state IN ({}) RETURNING number, "
      "sending_since IS NOT NULL",
      Table(), ToString(state), Reason(by), Reason(why), At(rows), from);
}

}  // namespace walpost
