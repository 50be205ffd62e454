// Configuration of outboxes: tables, columns and topics. Keys and defaults are
// documented in docs/configuration.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/choices.h"
#include "debezium/options.h"
#include "outbox/row_state_options.h"
#include "outbox/topic_creation.h"
#include "outbox/topic_template.h"

namespace walpost {

// Source of a field's value.
struct FieldSource {
  enum class Kind {
    kUsual,     // a column of the field's usual names, if the table has one
    kColumn,    // the column (of a message: the JSON member) named in `text`
    kConstant,  // always `text`
    kAbsent,    // always null
  };
  Kind kind = Kind::kUsual;
  std::string text;
};

struct FieldSources {
  FieldSource id;
  FieldSource aggregate_type;
  FieldSource aggregate_id;
  FieldSource type;
  FieldSource payload;
  FieldSource headers;
  FieldSource timestamp;  // kUsual: none, records have the commit time
};

struct TableOptions {
  // schema.table, as the catalog spells it (no quotes, no folding).
  std::string name = "public.outbox";
  // Names that the table had before it was renamed, the oldest first; nullopt:
  // nobody has said.
  std::optional<std::vector<std::string>> formerly = {};
  FieldSources columns;
  // Topic template of this table; empty: RouteOptions::topic.
  std::string topic;
  // Overrides RouteOptions::create_topics; nullopt: does not.
  std::optional<TopicCreation> create_topics = {};
  // Its partition column; nullopt: RouteOptions::partition.
  std::optional<std::string> partition = {};
  // Order of rows that are read from the table (not from the WAL): a column;
  // empty: that of field `id`.
  std::string order_by = {};
  // If not empty, the value is a JSON object of these columns, for rows that
  // only refer to a business row; the payload is not used.
  std::vector<std::string> value_columns;
  // Larger payloads, in bytes, stay in their rows: records have a claim check
  // in their place (claim_check.h). 0: records have all payloads.
  size_t claim_check_above = 0;
  // Columns with a row's state, for readers of the table.
  RowStateOptions state = {};
  // The entry of OutboxOptions::patterns that the table matches; empty: the
  // table is listed itself.
  std::string pattern = {};
  // True if the table came by a pattern and does not exist any more. Only its
  // rows in the WAL are left. Such tables come last.
  bool is_dropped = false;
  // Its place in the configuration.
  size_t place = 0;
  // OutboxOptions::debezium.
  std::shared_ptr<const debezium::Options> debezium = nullptr;

  // The name under which its events are on record: its first one. A table that
  // is renamed has the same events.
  const std::string& recorded_name() const {
    return formerly && !formerly->empty() ? formerly->front() : name;
  }
  bool HadName(std::string_view other) const {
    return formerly && std::ranges::find(*formerly, other) != formerly->end();
  }
};

// Transactional pg_logical_emit_message() with this prefix.
struct MessageOptions {
  enum class Format {
    kJson,     // content is a JSON object whose members are the fields
    kPayload,  // content is the payload; the other fields are constants
  };
  std::string prefix;  // empty: messages are not read
  Format format = Format::kJson;
  FieldSources columns;
  std::string topic;
  std::optional<TopicCreation> create_topics = {};
  std::optional<std::string> partition = {};
  // OutboxOptions::debezium.
  std::shared_ptr<const debezium::Options> debezium = nullptr;

  bool enabled() const { return !prefix.empty(); }
};

// walpost's own headers: the field `id`, and every name with this prefix
// (walpost-position, walpost-replay, walpost-recovered, walpost-snapshot,
// walpost-retried, walpost-released, walpost-claim-check).
inline constexpr std::string_view kIdHeader = "id";
inline constexpr std::string_view kPositionHeader = "walpost-position";
inline constexpr std::string_view kClaimCheckHeader = "walpost-claim-check";
inline constexpr std::string_view kReservedPrefix = "walpost-";

struct RouteOptions {
  // Also for dead letters.
  NameRule names = NameRule::kKafka;
  // See topic_template.h.
  std::string topic = "outbox.event.{aggregate_type}";
  // How walpost creates a topic that is missing. nullopt: it leaves that to the
  // brokers.
  std::optional<TopicCreation> create_topics = {};
  // Field or column with the number of the record's partition; empty: the key
  // chooses it.
  std::string partition = {};
  // Extra record headers: name, then field or column.
  std::vector<std::pair<std::string, std::string>> headers;
  // Records have the header `walpost-position`.
  bool position_header = true;
};

struct DeadLetterOptions {
  enum class Payload {
    kWhole,
    kCut,  // its first bytes
    kNone,
  };
  static constexpr Choices<Payload, 3> kPayloads = {{
      {"whole", Payload::kWhole},
      {"cut", Payload::kCut},
      {"none", Payload::kNone},
  }};
  enum class Store {
    kKafka,     // a topic
    kPostgres,  // parking.table, which only the stream of `run` writes
  };
  Store store = Store::kKafka;
  // See topic_template.h; also {class} and {source}.
  std::string topic = "walpost.dead-letter";
  std::optional<TopicCreation> create_topics = {};
  Payload payload = Payload::kWhole;
};

enum class ValueFormat {
  kRaw,       // the payload's bytes
  kProtobuf,  // walpost.v1.Envelope (proto/)
};

// The transactions whose rows are events: those of every origin, or only those
// without an origin, which were not replicated to this server
// (pg_replication_origin).
enum class OriginFilter { kAny, kNone };

struct OutboxOptions {
  OriginFilter origin = OriginFilter::kAny;  // postgres.origin
  // At first only those that are listed by name. A connection to the database
  // adds those that match `patterns`.
  std::vector<TableOptions> tables;
  // Entries whose name stands for several tables (table_pattern.h).
  std::vector<TableOptions> patterns = {};
  MessageOptions messages;
  RouteOptions route;
  ValueFormat value_format = ValueFormat::kRaw;
  // Records as Debezium's outbox event router makes them; nullptr: as
  // docs/records.md describes them.
  std::shared_ptr<const debezium::Options> debezium = nullptr;
  // UUIDv7 of this run, for a header of its records; empty: they have none.
  std::string run_id = {};
  DeadLetterOptions dead_letter;
  // The topic of walpost's checkpoints, to which no event may go. Empty: they
  // are not in Kafka.
  std::string checkpoint_topic = {};
};

// The entries of the configuration, in order.
inline std::vector<TableOptions> EntriesOf(const OutboxOptions& outbox) {
  std::vector<TableOptions> entries = outbox.patterns;
  for (const TableOptions& table : outbox.tables) {
    if (table.pattern.empty()) entries.push_back(table);
  }
  std::ranges::sort(entries, {}, &TableOptions::place);
  return entries;
}

// The index of a table that is listed.
inline size_t IndexOf(const OutboxOptions& outbox, std::string_view table) {
  const auto found =
      std::ranges::find(outbox.tables, table, &TableOptions::name);
  return static_cast<size_t>(found - outbox.tables.begin());
}

}  // namespace walpost
