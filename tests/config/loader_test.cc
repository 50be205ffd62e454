// What a configuration file says lands where it should.
#include "config/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "config/key_texts.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Environment Fake() {
  Environment fake;
  fake.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name == "HOST") return "db";
    if (name == "TRUE") return "true";
    return std::nullopt;
  };
  fake.file = [](const std::string& path) -> absl::StatusOr<std::string> {
    if (path == "/run/password") return "hun'ter2\n";
    return absl::InvalidArgumentError("No such file or directory");
  };
  return fake;
}

Config Parse(std::string_view text,
             const std::vector<std::string>& overrides = {}) {
  const auto config = ParseConfig(text, "walpost.yaml", overrides, Fake());
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << text;
  return config.ok() ? *config : Config();
}

std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(std::chrono::milliseconds value) {
  return std::to_string(value.count());
}
std::string Text(size_t value) { return std::to_string(value); }
std::string Text(const FieldSource& source) {
  using Kind = FieldSource::Kind;
  switch (source.kind) {
    case Kind::kUsual:
      return "usual";
    case Kind::kColumn:
      return "column " + source.text;
    case Kind::kConstant:
      return "constant " + source.text;
    case Kind::kAbsent:
      return "absent";
  }
  return "";
}
std::string Text(
    const std::vector<std::pair<std::string, ReloadableText>>& pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) {
    text += name + "=" + *value.Read() + ";";
  }
  return text;
}
std::string Text(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += value + ";";
  return text;
}
std::string Text(
    const std::vector<std::pair<std::string, std::string>>& values) {
  std::string text;
  for (const auto& [name, value] : values) text += name + "=" + value + ";";
  return text;
}
std::string Text(const char* value) { return value; }
std::string Text(const std::optional<TopicCreation>& creation) {
  if (!creation) return "none";
  return fmt::format("{} {} {}", creation->partitions,
                     creation->replication_factor, Text(creation->config));
}

struct Row {
  const char* key;  // as docs/configuration.md writes it
  const char* initially;
  const char* text;
  const char* finally;
  std::function<std::string(const Config&)> read;
};

const TableOptions& Table(const Config& c) { return c.outbox.tables.at(0); }

debezium::Options Records(const Config& config) {
  return config.outbox.debezium ? *config.outbox.debezium : debezium::Options();
}

// clang-format off
const Row kRows[] = {
    {"postgres.conninfo", "", "{postgres: {conninfo: host=db}}", "host=db",
     [](const Config& c) { return *c.postgres.server.conninfo.Read(); }},
    {"postgres.password_command", "",
     "{postgres: {password_command: [vault, read]}}",
     "vault;read;",
     [](const Config& c) { return Text(c.postgres.server.password_command); }},
    {"postgres.slot", "walpost", "{postgres: {slot: a_1}}", "a_1",
     [](const Config& c) { return c.postgres.slot; }},
    {"postgres.publication", "walpost", "{postgres: {publication: A b}}",
     "A b", [](const Config& c) { return c.postgres.publication; }},
    {"postgres.create", "false", "{postgres: {create: true}}", "true",
     [](const Config& c) { return Text(c.postgres.create); }},
    {"postgres.failover", "false", "{postgres: {failover: true}}", "true",
     [](const Config& c) { return Text(c.postgres.failover); }},
    {"postgres.wal_sender_timeout", "30000",
     "{postgres: {wal_sender_timeout: 1m}}", "60000",
     [](const Config& c) { return Text(c.postgres.wal_sender_timeout); }},
    {"postgres.wal_budget", "0", "{postgres: {wal_budget: auto}}", "0",
     [](const Config& c) { return Text(c.postgres.wal_budget_bytes); }},
    {"postgres.wal_budget", "0", "{postgres: {wal_budget: 1GiB}}",
     "1073741824",
     [](const Config& c) { return Text(c.postgres.wal_budget_bytes); }},
    {"postgres.status_interval", "200",
     "{postgres: {status_interval: 1s}}", "1000",
     [](const Config& c) { return Text(c.postgres.status_interval); }},
    {"postgres.origin", "any", "{postgres: {origin: none}}", "none",
     [](const Config& c) {
       return c.outbox.origin == OriginFilter::kAny ? "any" : "none";
     }},
    {"outbox.tables[].name", "public.outbox",
     "{outbox: {tables: [{name: a.b}]}}", "a.b",
     [](const Config& c) { return Table(c).name; }},
    {"outbox.tables[].formerly", "none",
     "{outbox: {tables: [{formerly: [b, a.c]}]}}", "public.b;a.c;",
     [](const Config& c) {
       return Table(c).formerly ? Text(*Table(c).formerly) : "none";
     }},
    {"outbox.tables[].columns.FIELD", "usual",
     "{outbox: {tables: [{columns: {type: event}}]}}", "column event",
     [](const Config& c) { return Text(Table(c).columns.type); }},
    {"outbox.tables[].topic", "", "{outbox: {tables: [{topic: t}]}}", "t",
     [](const Config& c) { return Table(c).topic; }},
    {"outbox.tables[].order_by", "", "{outbox: {tables: [{order_by: n}]}}", "n",
     [](const Config& c) { return Table(c).order_by; }},
    {"outbox.tables[].state.status", "",
     "{outbox: {tables: [{state: {status: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.status; }},
    {"outbox.tables[].state.pending", "pending",
     "{outbox: {tables: [{state: {pending: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.pending; }},
    {"outbox.tables[].state.published", "published",
     "{outbox: {tables: [{state: {published: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.published; }},
    {"outbox.tables[].state.processing", "processing",
     "{outbox: {tables: [{state: {processing: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.processing; }},
    {"outbox.tables[].state.failed", "failed",
     "{outbox: {tables: [{state: {failed: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.failed; }},
    {"outbox.tables[].state.published_at", "",
     "{outbox: {tables: [{state: {published_at: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.published_at; }},
    {"outbox.tables[].state.locked_until", "",
     "{outbox: {tables: [{state: {locked_until: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.locked_until; }},
    {"outbox.tables[].state.heartbeat_at", "",
     "{outbox: {tables: [{state: {heartbeat_at: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.heartbeat_at; }},
    {"outbox.tables[].state.attempts", "",
     "{outbox: {tables: [{state: {attempts: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.attempts; }},
    {"outbox.tables[].state.last_error", "",
     "{outbox: {tables: [{state: {last_error: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.last_error; }},
    {"outbox.tables[].state.next_attempt_at", "",
     "{outbox: {tables: [{state: {next_attempt_at: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.next_attempt_at; }},
    {"outbox.tables[].state.transaction_id", "",
     "{outbox: {tables: [{state: {transaction_id: x}}]}}", "x",
     [](const Config& c) { return Table(c).state.transaction_id; }},
    {"outbox.tables[].value.columns", "",
     "{outbox: {tables: [{value: {columns: [b, a]}}]}}", "b;a;",
     [](const Config& c) { return Text(Table(c).value_columns); }},
    {"outbox.tables[].claim_check_above", "0",
     "{outbox: {tables: [{claim_check_above: 900000}]}}", "900000",
     [](const Config& c) { return Text(Table(c).claim_check_above); }},
    {"outbox.messages.prefix", "", "{outbox: {messages: {prefix: p}}}", "p",
     [](const Config& c) { return c.outbox.messages.prefix; }},
    {"outbox.messages.format", "json",
     "{outbox: {messages: {format: payload}}}", "payload",
     [](const Config& c) {
       return Text(c.outbox.messages.format == MessageOptions::Format::kJson
                       ? "json" : "payload");
     }},
    {"outbox.messages.columns.FIELD", "usual",
     "{outbox: {messages: {columns: {id: uuid}}}}", "column uuid",
     [](const Config& c) { return Text(c.outbox.messages.columns.id); }},
    {"outbox.messages.topic", "", "{outbox: {messages: {topic: t}}}", "t",
     [](const Config& c) { return c.outbox.messages.topic; }},
    {"outbox.tables[].create_topics", "none",
     "{outbox: {tables: [{create_topics: {}}]}}", "-1 -1 ",
     [](const Config& c) { return Text(Table(c).create_topics); }},
    {"outbox.messages.create_topics", "none",
     "{outbox: {messages: {create_topics: {partitions: 2}}}}", "2 -1 ",
     [](const Config& c) { return Text(c.outbox.messages.create_topics); }},
    {"route.create_topics", "none",
     "{route: {create_topics: {partitions: 6, replication_factor: 3, config: "
     "{retention.ms: -1}}}}",
     "6 3 retention.ms=-1;",
     [](const Config& c) { return Text(c.outbox.route.create_topics); }},
    {"dead_letter.create_topics", "none",
     "{dead_letter: {create_topics: {replication_factor: 2}}}", "-1 2 ",
     [](const Config& c) { return Text(c.outbox.dead_letter.create_topics); }},
    {"route.topic", "outbox.event.{aggregate_type}",
     "{route: {topic: '{type|lower}'}}", "{type|lower}",
     [](const Config& c) { return c.outbox.route.topic; }},
    {"route.partition", "", "{route: {partition: shard}}", "shard",
     [](const Config& c) { return c.outbox.route.partition; }},
    {"outbox.tables[].partition", "none",
     "{outbox: {tables: [{partition: null}]}}", "",
     [](const Config& c) { return Table(c).partition.value_or("none"); }},
    {"outbox.messages.partition", "none",
     "{outbox: {messages: {partition: shard}}}", "shard",
     [](const Config& c) {
       return c.outbox.messages.partition.value_or("none");
     }},
    {"route.headers", "", "{route: {headers: {b: type, a: id}}}",
     "b=type;a=id;",
     [](const Config& c) { return Text(c.outbox.route.headers); }},
    {"route.position_header", "true", "{route: {position_header: false}}",
     "false", [](const Config& c) {
       return Text(c.outbox.route.position_header);
     }},
    {"on_error.CLASS", "stop", "{on_error: {topic_illegal: dead_letter}}",
     "dead_letter",
     [](const Config& c) {
       return std::string(
           ToString(c.on_error.Get(FindErrorClass("topic_illegal"))));
     }},
    {"parking.table", "public.walpost_parked", "{parking: {table: a.b}}", "a.b",
     [](const Config& c) { return c.parking.table; }},
    {"parking.max_keys", "1000", "{parking: {max_keys: 7}}", "7",
     [](const Config& c) { return std::to_string(c.parking.max_keys); }},
    {"parking.isolate_after", "0", "{parking: {isolate_after: 30s}}", "30000",
     [](const Config& c) { return Text(c.parking.isolate_after); }},
    {"parking.max_isolated_bytes", "1073741824",
     "{parking: {max_isolated_bytes: 1MiB}}", "1048576",
     [](const Config& c) {
       return std::to_string(c.parking.max_isolated_bytes);
     }},
    {"parking.max_isolated_time", "86400000",
     "{parking: {max_isolated_time: 2h}}", "7200000",
     [](const Config& c) { return Text(c.parking.max_isolated_time); }},
    {"dead_letter.store", "false", "{dead_letter: {store: postgres}}", "true",
     [](const Config& c) { return Text(c.keeps_letters()); }},
    {"dead_letter.topic", "walpost.dead-letter",
     "{dead_letter: {topic: 'dead.{class}'}}", "dead.{class}",
     [](const Config& c) { return c.outbox.dead_letter.topic; }},
    {"dead_letter.payload", "0", "{dead_letter: {payload: none}}", "2",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.outbox.dead_letter.payload));
     }},
    {"snapshot", "false", "{snapshot: initial, postgres: {create: true}}",
     "true",
     [](const Config& c) { return Text(c.postgres.initial_snapshot); }},
    {"source", "0", "{source: polling, polling: {strategy: delete}}", "1",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.source));
     }},
    {"sink", "0", "{sink: nats}", "1",
     [](const Config& c) { return std::to_string(static_cast<int>(c.sink)); }},
    {"polling.strategy", "0", "{polling: {strategy: cursor}}", "2",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.polling.strategy));
     }},
    {"polling.interval", "1000", "{polling: {interval: 10ms}}", "10",
     [](const Config& c) { return Text(c.polling.interval); }},
    {"polling.batch_size", "500", "{polling: {batch_size: 7}}", "7",
     [](const Config& c) { return Text(c.polling.batch_size); }},
    {"polling.notify", "", "{polling: {notify: outbox}}", "outbox",
     [](const Config& c) { return c.polling.notify; }},
    {"polling.lease", "30000", "{polling: {lease: 1m}}", "60000",
     [](const Config& c) { return Text(c.polling.lease); }},
    {"polling.lease_table", "", "{polling: {lease_table: a}}", "public.a",
     [](const Config& c) { return c.polling.lease_table; }},
    {"polling.transaction_timeout", "10000",
     "{polling: {transaction_timeout: 1s}}", "1000",
     [](const Config& c) { return Text(c.polling.transaction_timeout); }},
    {"polling.max_attempts", "10", "{polling: {max_attempts: 0}}", "0",
     [](const Config& c) { return Text(c.polling.max_attempts); }},
    {"polling.retry_backoff", "1000", "{polling: {retry_backoff: 5s}}", "5000",
     [](const Config& c) { return Text(c.polling.retry_backoff); }},
    {"polling.retry_backoff_max", "300000",
     "{polling: {retry_backoff_max: 1h}}", "3600000",
     [](const Config& c) { return Text(c.polling.retry_backoff_max); }},
    {"polling.cursor_table", "public.walpost_cursor",
     "{polling: {cursor_table: a}}", "public.a",
     [](const Config& c) { return c.polling.cursor_table; }},
    {"value.format", "raw", "{value: {format: protobuf}}", "protobuf",
     [](const Config& c) {
       return Text(c.outbox.value_format == ValueFormat::kRaw ? "raw"
                                                              : "protobuf");
     }},
    {"kafka.brokers", "", "{kafka: {brokers: 'a:1, b:2'}}", "a:1, b:2",
     [](const Config& c) { return c.kafka.brokers; }},
    {"kafka.brokers", "", "{kafka: {brokers: [a:1, 'b:2']}}", "a:1,b:2",
     [](const Config& c) { return c.kafka.brokers; }},
    {"kafka.token_command", "", "{kafka: {token_command: [sign, it]}}",
     "sign;it;",
     [](const Config& c) { return Text(c.kafka.token_command); }},
    {"kafka.max_topics", "5000", "{kafka: {max_topics: 7}}", "7",
     [](const Config& c) { return Text(c.kafka.max_topics); }},
    {"kafka.properties", "", "{kafka: {properties: {linger.ms: 5, a: ''}}}",
     "linger.ms=5;a=;",
     [](const Config& c) { return Text(c.kafka.properties); }},
    {"delivery.max_in_flight_records", "2000",
     "{delivery: {max_in_flight_records: 1}}", "1",
     [](const Config& c) { return Text(c.window.max_records); }},
    {"delivery.max_in_flight_records", "4 24000",
     "{delivery: {max_in_flight_records: 70000}}", "0 70000",
     [](const Config& c) {
       return Text(c.window.records_per_partition) + " " +
              Text(c.kafka.max_records);
     }},
    {"delivery.max_in_flight_records", "4",
     "{delivery: {max_in_flight_records: auto}}", "4",
     [](const Config& c) { return Text(c.window.records_per_partition); }},
    {"delivery.max_in_flight_bytes", "16777216",
     "{delivery: {max_in_flight_bytes: 64KiB}}", "65536",
     [](const Config& c) { return Text(c.window.max_bytes); }},
    {"delivery.shutdown_timeout", "10000",
     "{delivery: {shutdown_timeout: 0s}}", "0",
     [](const Config& c) { return Text(c.shutdown_timeout); }},
    {"delivery.latency_target", "5",
     "{delivery: {latency_target: 0ms}}", "0",
     [](const Config& c) { return Text(c.postgres.latency_target); }},
    {"delivery.guarantee", "0", "{delivery: {guarantee: exactly_once}}", "1",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.transactions.is_on));
     }},
    {"delivery.transaction_interval", "50",
     "{delivery: {transaction_interval: 1s}}", "1000",
     [](const Config& c) { return Text(c.transactions.interval); }},
    {"delivery.transaction_idle", "5",
     "{delivery: {transaction_idle: 1s}}", "1000",
     [](const Config& c) { return Text(c.transactions.idle); }},
    {"delivery.transaction_timeout", "60000",
     "{delivery: {transaction_timeout: 30s}}", "30000",
     [](const Config& c) { return Text(c.transactions.timeout); }},
    {"delivery.transaction_boundary", "0",
     "{delivery: {transaction_boundary: source, guarantee: exactly_once}}", "1",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.transactions.boundary));
     }},
    {"delivery.max_transaction_records", "1000000",
     "{delivery: {max_transaction_records: 7}}", "7",
     [](const Config& c) { return Text(c.transactions.max_records); }},
    {"delivery.max_transaction_bytes", "1073741824",
     "{delivery: {max_transaction_bytes: 64KiB}}", "65536",
     [](const Config& c) { return Text(c.transactions.max_bytes); }},
    {"delivery.on_large_transaction", "0",
     "{delivery: {on_large_transaction: stop}}", "1",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.transactions.oversize));
     }},
    {"checkpoint.store", "0", "{checkpoint: {store: postgres}}", "3",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.checkpoint.store));
     }},
    {"checkpoint.path", "walpost.checkpoint",
     "{checkpoint: {path: /var/lib/a}}", "/var/lib/a",
     [](const Config& c) { return c.checkpoint.path; }},
    {"checkpoint.topic", "walpost.checkpoint", "{checkpoint: {topic: a-b}}",
     "a-b", [](const Config& c) { return c.checkpoint.topic; }},
    {"checkpoint.table", "public.walpost_checkpoint",
     "{checkpoint: {table: a}}", "public.a",
     [](const Config& c) { return c.checkpoint.table; }},
    {"checkpoint.interval", "200", "{checkpoint: {interval: 1s}}", "1000",
     [](const Config& c) { return Text(c.checkpoint.interval); }},
    {"replay.window", "0", "{replay: {window: 64KiB}}", "65536",
     [](const Config& c) { return Text(c.postgres.replay.window_bytes); }},
    {"replay.window_time", "0",
     "{replay: {window: 1GiB, window_time: 24h}}", "86400000",
     [](const Config& c) { return Text(c.postgres.replay.window_time); }},
    {"retention.keep", "0", "{retention: {keep: 7d}}", "604800000",
     [](const Config& c) { return Text(c.retention.keep); }},
    {"retention.interval", "3600000", "{retention: {interval: 10m}}", "600000",
     [](const Config& c) { return Text(c.retention.interval); }},
    {"retention.batch_rows", "1000", "{retention: {batch_rows: 50}}", "50",
     [](const Config& c) { return Text(c.retention.batch_rows); }},
    {"retention.pause", "100", "{retention: {pause: 1s}}", "1000",
     [](const Config& c) { return Text(c.retention.pause); }},
    {"retention.partitions_ahead", "7",
     "{retention: {partitions_ahead: 0}}", "0",
     [](const Config& c) { return Text(c.retention.partitions_ahead); }},
    {"http.listen", "", "{http: {listen: '0.0.0.0:9090'}}", "0.0.0.0:9090",
     [](const Config& c) { return c.http.listen; }},
    {"records.profile", "", "{records: {profile: debezium, logical_name: a}}",
     "a", [](const Config& c) { return Records(c).logical_name; }},
    {"records.logical_name", "",
     "{records: {profile: debezium, logical_name: srv}}", "srv",
     [](const Config& c) { return Records(c).logical_name; }},
    {"records.placements", "0",
     "{records: {profile: debezium, logical_name: a, placements: ['t:Header']}}",
     "1", [](const Config& c) { return Text(Records(c).placements.size()); }},
    {"records.runtime", "0",
     "{records: {profile: debezium, logical_name: a, runtime: server}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).runtime)); }},
    {"records.context_headers", "2",
     "{records: {profile: debezium, logical_name: a, context_headers: none}}",
     "0", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).context_headers)); }},
    {"records.key_converter", "2",
     "{records: {profile: debezium, logical_name: a, key_converter: string}}",
     "0", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).key_converter)); }},
    {"records.value_converter", "2",
     "{records: {profile: debezium, logical_name: a, value_converter: bytes}}",
     "3", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).value_converter)); }},
    {"records.header_converter", "0",
     "{records: {profile: debezium, logical_name: a, header_converter: json}}",
     "2", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).header_converter)); }},
    {"records.json_decimals", "0",
     "{records: {profile: debezium, logical_name: a, json_decimals: numeric}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).json_decimals)); }},
    {"records.replace_null_with_default", "true",
     "{records: {profile: debezium, logical_name: a, replace_null_with_default: false}}",
     "false", [](const Config& c) { return Text(Records(c).replace_null_with_default); }},
    {"records.binary", "0",
     "{records: {profile: debezium, logical_name: a, binary: hex}}",
     "3", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).binary)); }},
    {"records.decimal", "0",
     "{records: {profile: debezium, logical_name: a, decimal: double}}",
     "2", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).decimal)); }},
    {"records.time_precision", "0",
     "{records: {profile: debezium, logical_name: a, time_precision: connect}}",
     "4", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).time_precision)); }},
    {"records.interval", "0",
     "{records: {profile: debezium, logical_name: a, interval: string}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).interval)); }},
    {"records.hstore", "0",
     "{records: {profile: debezium, logical_name: a, hstore: map}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).hstore)); }},
    {"records.unknown_types", "false",
     "{records: {profile: debezium, logical_name: a, unknown_types: true}}",
     "true", [](const Config& c) { return Text(Records(c).unknown_types); }},
    {"records.missing_columns", "0",
     "{records: {profile: debezium, logical_name: a, missing_columns: ignore}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).missing_columns)); }},
    {"records.schema_version", "",
     "{records: {profile: debezium, logical_name: a, schema_version: v}}",
     "v", [](const Config& c) { return Records(c).schema_version; }},
    {"records.tombstone_on_empty", "false",
     "{records: {profile: debezium, logical_name: a, tombstone_on_empty: true}}",
     "true", [](const Config& c) { return Text(Records(c).tombstone_on_empty); }},
    {"records.expand_json", "false",
     "{records: {profile: debezium, logical_name: a, expand_json: true}}",
     "true", [](const Config& c) { return Text(Records(c).expand_json); }},
    {"records.json_nulls", "0",
     "{records: {profile: debezium, logical_name: a, json_nulls: optional_bytes}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).json_nulls)); }},
    {"records.json_empty_arrays", "0",
     "{records: {profile: debezium, logical_name: a, json_empty_arrays: optional_string}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).json_empty_arrays)); }},
    {"records.message_nulls", "false",
     "{records: {profile: debezium, logical_name: a, message_nulls: true}}",
     "true", [](const Config& c) { return Text(Records(c).message_nulls); }},
    {"records.on_update", "0",
     "{records: {profile: debezium, logical_name: a, on_update: stop}}",
     "1", [](const Config& c) { return std::to_string(static_cast<int>(Records(c).on_update)); }},
    {"log.keys", "false", "{log: {keys: true}}", "true",
     [](const Config& c) { return Text(c.log.keys); }},
    {"log.level", "1", "{log: {level: debug}}", "0",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.log.level));
     }},
    {"log.format", "0", "{log: {format: json}}", "1",
     [](const Config& c) {
       return std::to_string(static_cast<int>(c.log.format));
     }},
};
// clang-format on

TEST(LoaderTest, EveryKeyLandsInItsFieldAndHasItsDefault) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.key);
    EXPECT_EQ(row.read(Parse("")), row.initially);
    EXPECT_EQ(row.read(Parse(row.text)), row.finally);
  }
}

TEST(LoaderTest, EveryKeyIsAmongThem) {
  std::set<std::string> tested;
  for (const Row& row : kRows) tested.insert(row.key);
  std::set<std::string> texts;
  for (const KeyText& text : KeyTexts()) {
    // sink_keys_test has those of the other sinks.
    const bool is_of_another_sink = text.path.starts_with("nats.") ||
                                    text.path.starts_with("rabbitmq.") ||
                                    text.path.starts_with("redis.");
    if (is_of_another_sink || text.path.starts_with("*.")) continue;
    texts.emplace(text.path);
  }
  EXPECT_EQ(texts, tested);
}

TEST(LoaderTest, TheExampleOfTheManualIsReadAsItSays) {
  std::ifstream file(WALPOST_SOURCE_DIR "/docs/configuration.md");
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  const size_t begin = text.find("```yaml\noutbox:") + 8;
  const size_t end = text.find("```", begin);
  const Config config = Parse(text.substr(begin, end - begin));
  ASSERT_EQ(config.outbox.tables.size(), 3u);
  const auto& tables = config.outbox.tables;
  EXPECT_EQ(tables[0].name, "public.outbox_messages");
  EXPECT_EQ(Text(tables[0].columns.aggregate_type), "constant order");
  EXPECT_EQ(Text(tables[1].columns.aggregate_id), "column id");
  EXPECT_EQ(Text(tables[1].columns.type), "column task_type");
  EXPECT_EQ(tables[1].topic, "tasks.{task_type|lower|replace:_:-}");
  EXPECT_EQ(Text(tables[2].columns.aggregate_id), "absent");
  EXPECT_THAT(tables[2].value_columns, ElementsAre("table_id", "table_name"));
}

TEST(LoaderTest, EveryFieldHasThreeForms) {
  for (const auto& [name, member] :
       {std::pair("id", &FieldSources::id),
        std::pair("aggregate_type", &FieldSources::aggregate_type),
        std::pair("aggregate_id", &FieldSources::aggregate_id),
        std::pair("type", &FieldSources::type),
        std::pair("payload", &FieldSources::payload),
        std::pair("headers", &FieldSources::headers),
        std::pair("timestamp", &FieldSources::timestamp)}) {
    for (const auto& [yaml, text] :
         {std::pair("c", "column c"), std::pair("~", "absent"),
          std::pair("'~'", "column ~"), std::pair("'${env:HOST}'", "column db"),
          std::pair("{constant: ''}", "constant "),
          std::pair("{constant: 1}", "constant 1")}) {
      const std::string columns =
          std::string("{columns: {") + name + ": " + yaml + "}}";
      const auto outbox = Parse("outbox: {tables: [" + columns +
                                "], messages: " + columns + "}")
                              .outbox;
      EXPECT_EQ(Text(outbox.tables.at(0).columns.*member), text) << columns;
      EXPECT_EQ(Text(outbox.messages.columns.*member), text) << columns;
    }
  }
}

TEST(LoaderTest, ATableWithoutASchemaIsPublic) {
  const auto tables =
      Parse("{outbox: {tables: [{name: a}, {name: s.a}, {}]}}").outbox.tables;
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].name, "public.a");
  EXPECT_EQ(tables[1].name, "s.a");
  EXPECT_EQ(tables[2].name, "public.outbox");
}

TEST(LoaderTest, MessagesAloneBringNoTable) {
  EXPECT_EQ(Parse("{outbox: {messages: {prefix: p}}}").outbox.tables.size(),
            0u);
  EXPECT_EQ(Parse("{outbox: {tables: [], messages: {prefix: p}}}")
                .outbox.tables.size(),
            0u);
  EXPECT_EQ(Parse("{outbox: {}}").outbox.tables.size(), 1u);
}

TEST(LoaderTest, TheClientIsNamedAfterTheSlot) {
  EXPECT_EQ(Parse("{postgres: {slot: orders}}").kafka.client_id,
            "walpost-orders");
}

TEST(LoaderTest, ReplacesReferencesInValues) {
  const Config config = Parse(
      "{postgres: {conninfo: 'host=${env:HOST}', create: '${env:TRUE}'},"
      " kafka: {properties: {sasl.password: '${file:/run/password}',"
      " '${env:HOST}': '$${env:HOST}'}}}");
  EXPECT_EQ(*config.postgres.server.conninfo.Read(), "host=db");
  EXPECT_TRUE(config.postgres.create);
  ASSERT_EQ(config.kafka.properties.size(), 2u);
  EXPECT_EQ(config.kafka.properties[0].first, "sasl.password");
  EXPECT_EQ(*config.kafka.properties[0].second.Read(), "hun'ter2");
  EXPECT_EQ(config.kafka.properties[1].first, "${env:HOST}");
  EXPECT_EQ(*config.kafka.properties[1].second.Read(), "${env:HOST}");
}

// What reaches a server is read when it is used; the rest once.
TEST(LoaderTest, ReadsReferencesOfConnectionsAgainForEachUse) {
  absl::StatusOr<std::string> content = "first";
  Environment changing = Fake();
  changing.file = [&content](const std::string&) { return content; };
  const auto config = ParseConfig(
      "{postgres: {conninfo: 'password=${file:/p}', publication: "
      "'${file:/p}'}, kafka: {properties: {sasl.password: '${file:/p}'}}}",
      "walpost.yaml", {}, changing);
  ASSERT_TRUE(config.ok()) << config.status();
  const ReloadableText& conninfo = config->postgres.server.conninfo;
  const ReloadableText& password = config->kafka.properties[0].second;
  EXPECT_EQ(*conninfo.Read(), "password=first");
  content = "second";
  EXPECT_EQ(*conninfo.Read(), "password=second");
  EXPECT_EQ(*password.Read(), "second");
  EXPECT_EQ(config->postgres.publication, "first");
  content = absl::NotFoundError("file /p: No such file or directory");
  EXPECT_TRUE(absl::IsUnavailable(conninfo.Read().status()));
  EXPECT_THAT(std::string(conninfo.Read().status().message()),
              AllOf(HasSubstr("postgres.conninfo: "), HasSubstr("/p")));
  EXPECT_THAT(
      std::string(password.Read().status().message()),
      AllOf(HasSubstr("kafka.properties.sasl.password: "), HasSubstr("/p")));
}

TEST(LoaderTest, OverridesWinAndMayHoldReferences) {
  const Config config = Parse(
      "{log: {level: warn}, kafka: {properties: {linger.ms: 1, a: b}}}",
      {"log.level=error", "kafka.properties.linger.ms=5",
       "postgres.conninfo=host=${env:HOST}", "outbox.tables=[{name: a.b}]"});
  EXPECT_EQ(config.log.level, LogLevel::kError);
  EXPECT_THAT(config.kafka.properties,
              ElementsAre(Pair("linger.ms", "5"), Pair("a", "b")));
  EXPECT_EQ(*config.postgres.server.conninfo.Read(), "host=db");
  EXPECT_EQ(config.outbox.tables.at(0).name, "a.b");
}

TEST(LoaderTest, EmptySectionsAreAsGoodAsNone) {
  const Config config = Parse(
      "postgres:\noutbox:\n  tables:\nroute: {}\nvalue: ~\nkafka:\n"
      "  properties:\ndelivery:\nhttp:\nlog:\n");
  EXPECT_EQ(config.postgres.slot, "walpost");
  EXPECT_EQ(config.outbox.tables.size(), 1u);
}

TEST(LoaderTest, ReadsAFile) {
  const std::string path = ::testing::TempDir() + "walpost_loader_test.yaml";
  std::ofstream(path) << "log: {level: warn}\n";
  const auto config = LoadConfig(path, {"postgres.slot=a"});
  std::remove(path.c_str());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->log.level, LogLevel::kWarn);
  EXPECT_EQ(config->postgres.slot, "a");
}

TEST(LoaderTest, NamesAFileThatCannotBeRead) {
  const absl::Status status =
      LoadConfig("/none/walpost.yaml", {}, Secrets::kNeeded, "try -c").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(std::string(status.message()),
            "configuration file /none/walpost.yaml cannot be read: No such "
            "file or directory; try -c");
}

// Brokers log what they deny.
TEST(LoaderTest, BrokersAreProbedWithATopicThatTheRoleMayHave) {
  EXPECT_EQ(Parse("").kafka.probed_topic, "outbox.event.walpost");
  EXPECT_EQ(Parse("route: {topic: all}").kafka.probed_topic, "all");
  EXPECT_EQ(Parse("route: {topic: '{type}'}").kafka.probed_topic, "walpost");
  EXPECT_EQ(Parse("outbox: {tables: [{name: public.a, topic: 'a.{type}'}]}")
                .kafka.probed_topic,
            "a.walpost");
  EXPECT_EQ(Parse("checkpoint: {store: kafka, topic: c}").kafka.probed_topic,
            "c");
}

}  // namespace
}  // namespace walpost
