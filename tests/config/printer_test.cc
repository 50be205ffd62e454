#include "config/printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/loader.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// No variables and no files, but one secret.
Environment Fake() {
  Environment fake;
  fake.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name == "SECRET") return "hunter2";
    return std::nullopt;
  };
  fake.file = [](const std::string&) {
    return absl::InvalidArgumentError("No such file or directory");
  };
  return fake;
}

Config Parse(const std::string& text) {
  const auto config = ParseConfig(text, "walpost.yaml", {}, Fake());
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << text;
  return config.ok() ? *config : Config();
}

TEST(PrinterTest, PrintsTheDefaults) {
  EXPECT_EQ(PrintConfig(Parse("")),
            R"(source: wal
sink: kafka
postgres:
  conninfo: ""
  password_command:
    []
  slot: walpost
  publication: walpost
  create: false
  failover: false
  wal_sender_timeout: 30s
  status_interval: 200ms
  wal_budget: auto
  origin: any
polling:
  strategy: claim
  interval: 1s
  batch_size: 500
  notify: ""
  lease: 30s
  lease_table: ""
  transaction_timeout: 10s
  max_attempts: 10
  retry_backoff: 1s
  retry_backoff_max: 5m
  cursor_table: public.walpost_cursor
outbox:
  tables:
    - name: public.outbox
      columns:
        {}
records:
  profile: raw
route:
  topic: outbox.event.{aggregate_type}
  headers:
    {}
  position_header: true
value:
  format: raw
kafka:
  brokers: ""
  token_command:
    []
  max_topics: 5000
  properties:
    {}
delivery:
  max_in_flight_records: auto
  max_in_flight_bytes: 16MiB
  shutdown_timeout: 10s
  latency_target: 5ms
  guarantee: at_least_once
  transaction_interval: 50ms
  transaction_idle: 5ms
  transaction_timeout: 1m
  transaction_boundary: event
  max_transaction_records: 1000000
  max_transaction_bytes: 1GiB
  on_large_transaction: split
on_error:
  topic_field_missing: stop
  topic_illegal: stop
  partition_illegal: stop
  too_many_topics: stop
  headers_unreadable: stop
  message_unreadable: stop
  payload_missing: stop
  column_unreadable: stop
  text_not_utf8: stop
  conversion_failed: stop
  record_too_large: stop
  record_refused: stop
  unroutable: stop
parking:
  table: public.walpost_parked
  max_keys: 1000
  isolate_after: 0ms
  max_isolated_bytes: 1GiB
  max_isolated_time: 1d
dead_letter:
  store: kafka
  topic: walpost.dead-letter
  payload: whole
snapshot: never
checkpoint:
  store: none
  path: walpost.checkpoint
  topic: walpost.checkpoint
  table: public.walpost_checkpoint
  interval: 200ms
replay:
  window: 0
  window_time: 0ms
retention:
  keep: 0ms
  interval: 1h
  batch_rows: 1000
  pause: 100ms
  partitions_ahead: 7
http:
  listen: ""
log:
  level: info
  format: text
  keys: false
)");
}

void ExpectSame(const FieldSources& a, const FieldSources& b) {
  for (const auto field : {&FieldSources::id, &FieldSources::aggregate_type,
                           &FieldSources::aggregate_id, &FieldSources::type,
                           &FieldSources::payload, &FieldSources::headers,
                           &FieldSources::timestamp}) {
    EXPECT_EQ((a.*field).kind, (b.*field).kind);
    EXPECT_EQ((a.*field).text, (b.*field).text);
  }
}

void ExpectSame(const RowStateOptions& a, const RowStateOptions& b) {
  using State = RowStateOptions;
  for (const auto column :
       {&State::status, &State::pending, &State::processing, &State::published,
        &State::failed, &State::published_at, &State::locked_until,
        &State::heartbeat_at, &State::attempts, &State::last_error,
        &State::next_attempt_at, &State::transaction_id}) {
    EXPECT_EQ(a.*column, b.*column);
  }
}

void ExpectSame(const PollingOptions& a, const PollingOptions& b) {
  EXPECT_EQ(a.strategy, b.strategy);
  EXPECT_EQ(a.interval, b.interval);
  EXPECT_EQ(a.batch_size, b.batch_size);
  EXPECT_EQ(a.notify, b.notify);
  EXPECT_EQ(a.lease, b.lease);
  EXPECT_EQ(a.lease_table, b.lease_table);
  EXPECT_EQ(a.transaction_timeout, b.transaction_timeout);
  EXPECT_EQ(a.max_attempts, b.max_attempts);
  EXPECT_EQ(a.retry_backoff, b.retry_backoff);
  EXPECT_EQ(a.retry_backoff_max, b.retry_backoff_max);
  EXPECT_EQ(a.cursor_table, b.cursor_table);
}

void ExpectSame(const std::vector<TableOptions>& a,
                const std::vector<TableOptions>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].place, b[i].place);
    ExpectSame(a[i].columns, b[i].columns);
    EXPECT_EQ(a[i].topic, b[i].topic);
    EXPECT_EQ(a[i].value_columns, b[i].value_columns);
    EXPECT_EQ(a[i].claim_check_above, b[i].claim_check_above);
    ExpectSame(a[i].state, b[i].state);
  }
}

void ExpectSame(const OutboxOptions& a, const OutboxOptions& b) {
  EXPECT_EQ(a.origin, b.origin);
  ExpectSame(a.tables, b.tables);
  ExpectSame(a.patterns, b.patterns);
  EXPECT_EQ(a.messages.prefix, b.messages.prefix);
  EXPECT_EQ(a.messages.format, b.messages.format);
  ExpectSame(a.messages.columns, b.messages.columns);
  EXPECT_EQ(a.messages.topic, b.messages.topic);
  EXPECT_EQ(a.route.topic, b.route.topic);
  EXPECT_EQ(a.route.headers, b.route.headers);
  EXPECT_EQ(a.route.position_header, b.route.position_header);
  EXPECT_EQ(a.value_format, b.value_format);
}

void ExpectSame(const Config& a, const Config& b) {
  EXPECT_EQ(a.postgres.server.conninfo, b.postgres.server.conninfo);
  EXPECT_EQ(a.postgres.slot, b.postgres.slot);
  EXPECT_EQ(a.postgres.publication, b.postgres.publication);
  EXPECT_EQ(a.postgres.create, b.postgres.create);
  EXPECT_EQ(a.postgres.failover, b.postgres.failover);
  EXPECT_EQ(a.postgres.wal_sender_timeout, b.postgres.wal_sender_timeout);
  EXPECT_EQ(a.postgres.status_interval, b.postgres.status_interval);
  EXPECT_EQ(a.postgres.latency_target, b.postgres.latency_target);
  EXPECT_EQ(a.postgres.wal_budget_bytes, b.postgres.wal_budget_bytes);
  EXPECT_EQ(a.source, b.source);
  ExpectSame(a.polling, b.polling);
  ExpectSame(a.outbox, b.outbox);
  EXPECT_EQ(a.kafka.brokers, b.kafka.brokers);
  EXPECT_EQ(a.kafka.properties, b.kafka.properties);
  EXPECT_EQ(a.kafka.client_id, b.kafka.client_id);
  EXPECT_EQ(a.window.max_records, b.window.max_records);
  EXPECT_EQ(a.window.max_bytes, b.window.max_bytes);
  EXPECT_EQ(a.shutdown_timeout, b.shutdown_timeout);
  EXPECT_EQ(a.checkpoint.store, b.checkpoint.store);
  EXPECT_EQ(a.checkpoint.path, b.checkpoint.path);
  EXPECT_EQ(a.checkpoint.topic, b.checkpoint.topic);
  EXPECT_EQ(a.checkpoint.table, b.checkpoint.table);
  EXPECT_EQ(a.checkpoint.interval, b.checkpoint.interval);
  EXPECT_EQ(a.postgres.replay.window_bytes, b.postgres.replay.window_bytes);
  EXPECT_EQ(a.postgres.replay.window_time, b.postgres.replay.window_time);
  EXPECT_EQ(a.retention.keep, b.retention.keep);
  EXPECT_EQ(a.retention.interval, b.retention.interval);
  EXPECT_EQ(a.retention.batch_rows, b.retention.batch_rows);
  EXPECT_EQ(a.retention.pause, b.retention.pause);
  EXPECT_EQ(a.retention.partitions_ahead, b.retention.partitions_ahead);
  EXPECT_EQ(a.http.listen, b.http.listen);
  EXPECT_EQ(a.log.level, b.log.level);
  EXPECT_EQ(a.log.format, b.log.format);
}

// Without secrets, and with a conninfo as libpq orders it.
const char* const kTexts[] = {
    "",
    R"(
postgres: {conninfo: user=u dbname=d host=h, slot: s_1, publication: 'My "P"',
           create: true, failover: true, wal_sender_timeout: 61s,
           status_interval: 1ms, wal_budget: 3GiB, origin: none}
outbox:
  tables:
    - name: shop.orders
      columns: {id: a, aggregate_type: {constant: ''}, aggregate_id: ~,
                type: {constant: 'null'}, payload: 'null', headers: '~',
                timestamp: created_at}
      topic: "{a|lower|replace:_:-}"
    - {name: b, value: {columns: ['1', 'true', 'a: b', '# c']}}
  messages: {prefix: ' p ', format: payload, topic: t,
             columns: {aggregate_type: {constant: 'x y'}, id: ~}}
route: {topic: t, position_header: false,
        headers: {z: type, a: id, 'null': b, '1': c, 'a.b': '&d', '': e}}
value: {format: protobuf}
kafka: {brokers: 'a:1, b:2', properties: {linger.ms: 5, debug: 'a,b'}}
checkpoint: {store: kafka, path: 'a b', topic: c, table: s.T, interval: 50ms}
delivery: {max_in_flight_records: 1, max_in_flight_bytes: 100001,
           shutdown_timeout: 0ms, latency_target: 0ms}
replay: {window: 3MiB, window_time: 2h}
retention: {keep: 36h, interval: 90s, batch_rows: 1, pause: 0ms,
            partitions_ahead: 30}
http: {listen: '[::1]:0'}
log: {level: error}
)",
    "{outbox: {tables: [], messages: {prefix: p}}}",
    "{outbox: {tables: [{name: 't*.o', topic: x}, {name: 'a\\*.b'}, {name: "
    "c.d}, {name: 'u\\**'}]}}",
    "{source: polling, polling: {strategy: delete, lease_table: s.L}, outbox: "
    "{tables: [{name: t}]}}",
    R"(
source: polling
polling: {strategy: cursor, interval: 5ms, batch_size: 3, notify: 'A b',
          lease: 2s, transaction_timeout: 700ms, max_attempts: 0,
          retry_backoff: 3ms, retry_backoff_max: 4ms, cursor_table: s.T}
outbox:
  tables:
    - name: t
      state: {status: a, pending: 'true', processing: '', published: '1',
              failed: 'null', published_at: b, locked_until: c, attempts: d,
              last_error: e, next_attempt_at: f, transaction_id: g}
    - {name: u, state: {heartbeat_at: h, transaction_id: i}}
)",
    "{kafka: {properties: {a: '', b: ' ', c: '- x', d: '!x', e: '*x',"
    " f: \"\\n\\t\\\\\\\"'\", g: '%', h: '@', i: '---', j: '? x', k: 'é'}}}",
};

TEST(PrinterTest, WhatIsPrintedParsesToTheSameConfig) {
  for (const char* text : kTexts) {
    const Config config = Parse(text);
    const std::string printed = PrintConfig(config);
    SCOPED_TRACE(printed);
    ExpectSame(Parse(printed), config);
    EXPECT_EQ(PrintConfig(Parse(printed)), printed);
  }
}

TEST(PrinterTest, AWordThatLooksLikeAnotherKindStaysAWord) {
  for (const std::string word : {"null", "~", "true", "1", "0x1", "1e3", "no",
                                 "Null", "NULL", ".inf", "<<", "="}) {
    Config config;
    config.outbox.tables.emplace_back();
    config.postgres.publication = word;
    config.kafka.properties = {{word, word}};
    const Config read = Parse(PrintConfig(config));
    EXPECT_EQ(read.postgres.publication, word);
    EXPECT_EQ(read.kafka.properties, config.kafka.properties);
  }
}

TEST(PrinterTest, ALiteralReferenceIsNotReplacedWhenReadBack) {
  for (const std::string text :
       {"${env:SECRET}", "$${env:SECRET}", "$$${", "${${", "$", "a$${b}$${",
        "${file:/x", "$}{"}) {
    Config config;
    config.postgres.publication = text;
    config.outbox.tables.emplace_back().columns.type = {
        FieldSource::Kind::kConstant, text};
    config.outbox.route.headers = {{"name", text}};
    const Config read = Parse(PrintConfig(config));
    EXPECT_EQ(read.postgres.publication, text);
    ASSERT_EQ(read.outbox.tables.size(), 1u);
    EXPECT_EQ(read.outbox.tables[0].columns.type.text, text);
    EXPECT_EQ(read.outbox.route.headers, config.outbox.route.headers);
  }
}

struct Secret {
  const char* text;
  const char* printed;
};

TEST(PrinterTest, PrintsNoSecret) {
  const Secret rows[] = {
      {"{postgres: {conninfo: 'host=db password=hunter2'}}",
       "conninfo: password=******** host=db"},
      {"{postgres: {conninfo: 'postgresql://u:hunter2@db'}}",
       "conninfo: user=u password=******** host=db"},
      {"{postgres: {conninfo: 'host=db sslpassword=${env:SECRET}'}}",
       "conninfo: host=db sslpassword=********"},
      {"{kafka: {properties: {sasl.password: hunter2}}}",
       "sasl.password: \"********\""},
      {"{kafka: {properties: {sasl.password: '${env:SECRET}'}}}",
       "sasl.password: \"********\""},
      {"{kafka: {properties: {ssl.key.pem: \"---\\nhunter2\\n---\"}}}",
       "ssl.key.pem: \"********\""},
  };
  for (const Secret& row : rows) {
    const std::string printed = PrintConfig(Parse(row.text));
    EXPECT_THAT(printed, Not(HasSubstr("hunter2")));
    EXPECT_THAT(printed, HasSubstr(row.printed));
  }
}

TEST(PrinterTest, PrintsNoConninfoThatDoesNotParse) {
  Config config;
  config.postgres.server.conninfo = "password hunter2";
  EXPECT_THAT(PrintConfig(config), Not(HasSubstr("hunter2")));
}

// The document still reads back, so that it can be mended.
TEST(PrinterTest, WhatIsPrintedWithHiddenSecretsParses) {
  const std::string printed =
      PrintConfig(Parse("{postgres: {conninfo: 'host=db password=hunter2'},"
                        " kafka: {properties: {sasl.password: hunter2}}}"));
  EXPECT_EQ(PrintConfig(Parse(printed)), printed);
}

}  // namespace
}  // namespace walpost
