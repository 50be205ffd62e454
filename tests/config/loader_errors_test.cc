// What a configuration file must not say, and how that is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/loader.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::Status Parse(std::string_view text,
                   const std::vector<std::string>& overrides = {}) {
  Environment fake;
  fake.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  fake.file = [](const std::string&) {
    return absl::InvalidArgumentError("No such file or directory");
  };
  return ParseConfig(text, "w.yaml", overrides, fake).status();
}

struct Row {
  const char* text;
  const char* where;  // what the message begins with
  const char* what;   // what it holds
};

void ExpectRefusals(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const absl::Status status = Parse(row.text);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.text << status;
    const std::string message(status.message());
    EXPECT_THAT(message, StartsWith(row.where)) << row.text;
    EXPECT_THAT(message, HasSubstr(row.what)) << row.text;
    EXPECT_THAT(message, Not(HasSubstr("\n"))) << "one line";
  }
}

TEST(LoaderErrorsTest, ASettingOfLibpqBelongsInTheConninfo) {
  ExpectRefusals({
      {"postgres:\n  host: db\n", "w.yaml:2: postgres.host: ",
       "is a setting of libpq: write it in postgres.conninfo, as in conninfo: "
       "host=..."},
      {"postgres: {sslmode: require}",
       "w.yaml:1: postgres.sslmode: ", "is a setting of libpq"},
      {"postgres: {hots: db}",
       "w.yaml:1: postgres.hots: ", "there is no such key"},
  });
}

TEST(LoaderErrorsTest, AListOfBrokersIsAListOrHasCommas) {
  ExpectRefusals({
      {"kafka: {brokers: '[a:1, b:2]'}", "w.yaml:1: kafka.brokers: ", "[a:1"},
      {"kafka: {brokers: [a:1, {b: 2}]}",
       "w.yaml:1: kafka.brokers: ", "a single value is expected"},
      {"kafka: {brokers: {a: 1}}",
       "w.yaml:1: kafka.brokers: ", "a single value is expected"},
  });
}

TEST(LoaderErrorsTest, WhatOnlyKafkaHasIsRefusedByName) {
  ExpectRefusals({
      {"sink: pulsar", "w.yaml:1: sink: ",
       "'pulsar' is not one of kafka, nats, rabbitmq, redis"},
      {"sink: nats\nkafka: {brokers: a:1}", "w.yaml:2: kafka: ",
       "is for sink: kafka, and the sink is nats: remove it, or set sink: "
       "kafka"},
      {"sink: nats\ndelivery: {guarantee: exactly_once}",
       "w.yaml:2: delivery: ",
       "needs transactions, which NATS does not have: set guarantee: "
       "at_least_once"},
      {"sink: redis\ncheckpoint: {store: kafka}", "w.yaml:2: checkpoint: ",
       "the sink is Redis: set store: postgres, or file"},
      {"sink: rabbitmq\nparking: {isolate_after: 1m}",
       "w.yaml:2: parking: ", "the sink is RabbitMQ: remove it"},
      {"sink: rabbitmq\nroute: {create_topics: {}}",
       "w.yaml:2: route: ", "remove it; rabbitmq.create makes what is missing"},
      {"sink: redis\noutbox: {tables: [{name: a, create_topics: {}}]}",
       "w.yaml:2: outbox: ", "create_topics is for topics of Kafka"},
      {"sink: redis\noutbox: {messages: {prefix: a, create_topics: {}}}",
       "w.yaml:2: outbox: ", "create_topics is for topics of Kafka"},
      {"sink: redis\ndead_letter: {create_topics: {}}",
       "w.yaml:2: dead_letter: ", "create_topics is for topics of Kafka"},
      {"sink: nats\nroute: {partition: p}",
       "w.yaml:2: route: ", "partition: NATS has no partitions"},
      {"sink: nats\noutbox: {tables: [{name: a, partition: p}]}",
       "w.yaml:2: outbox: ", "partition: NATS has no partitions"},
      {"route: {topic: 'a:b'}", "w.yaml:1: route.topic: ",
       "'a:b' cannot be part of a topic name, which has a-z"},
      {"sink: redis\nroute: {topic: 'a b'}", "w.yaml:2: route.topic: ",
       "'a b' cannot be part of a topic name, which has a-z A-Z 0-9 . _ - : /"},
  });
  EXPECT_TRUE(Parse("sink: redis\nroute: {topic: 'a:{type}'}").ok());
}

TEST(LoaderErrorsTest, FilesOfTlsNeedTls) {
  for (const char* sink : {"nats", "rabbitmq", "redis"}) {
    const auto tls = [sink](const char* keys) {
      return Parse(fmt::format("sink: {0}\n{0}: {{tls: {{{1}}}}}", sink, keys));
    };
    EXPECT_THAT(std::string(tls("enabled: true, key_file: k").message()),
                HasSubstr("certificate_file and key_file go together"));
    EXPECT_THAT(std::string(tls("ca_file: a").message()),
                AllOf(HasSubstr(fmt::format("{}.tls.enabled: ", sink)),
                      HasSubstr("there are files for it")));
    EXPECT_TRUE(tls("enabled: true, ca_file: a").ok());
  }
}

// Connections to tls:// use TLS without nats.tls.enabled.
TEST(LoaderErrorsTest, FilesOfTlsAreForServersOfNatsWithTheScheme) {
  const auto to = [](const char* servers) {
    return Parse(fmt::format(
        "sink: nats\nnats: {{servers: [{}], tls: {{ca_file: a}}}}", servers));
  };
  EXPECT_TRUE(to("'tls://a:4222'").ok());
  EXPECT_TRUE(to("'nats://b', 'tls://a:4222'").ok());
  EXPECT_THAT(std::string(to("'nats://a:4222'").message()),
              HasSubstr("set it to true, or begin an address with tls://"));
}

TEST(LoaderErrorsTest, RecordsAsDebeziumMakesThemTakeNoConstants) {
  ExpectRefusals({
      {"records: {profile: debezium, logical_name: s}\n"
       "outbox: {tables: [{name: a.b, columns: {aggregate_id: {constant: "
       "k}}}]}",
       "w.yaml:2: outbox: ",
       "map a column instead of the constant 'k' in columns of table a.b"},
      {"records: {profile: debezium, logical_name: s}\n"
       "outbox: {tables: [{name: a.b, columns: {headers: h}}]}",
       "w.yaml:2: outbox: ", "columns.headers of table a.b"},
  });
}

TEST(LoaderErrorsTest, UnknownKeysAreNamed) {
  ExpectRefusals({
      {"kafka:\n  broker: a\n", "w.yaml:2: kafka.broker: ",
       "there is no such key; did you mean 'brokers'?"},
      {"postgress: {}\n", "w.yaml:1: postgress: ", "did you mean 'postgres'?"},
      {"\n\nzebra: 1\n", "w.yaml:3: zebra: ", "there is no such key"},
      {"postgres: {Slot: a}", "w.yaml:1: postgres.Slot: ", "'slot'"},
      {"outbox: {table: []}", "w.yaml:1: outbox.table: ", "'tables'"},
      {"outbox:\n  tables:\n    - {}\n    - {nam: a}\n",
       "w.yaml:4: outbox.tables[1].nam: ", "'name'"},
      {"outbox: {tables: [{columns: {key: a}}]}",
       "w.yaml:1: outbox.tables[0].columns.key: ", "there is no such key"},
      {"outbox: {tables: [{columns: {id: {const: a}}}]}",
       "w.yaml:1: outbox.tables[0].columns.id: ", "{constant: text} or null"},
      {"outbox: {tables: [{columns: {id: {constant: a, x: b}}}]}",
       "w.yaml:1: outbox.tables[0].columns.id.x: ", "there is no such key"},
      {"outbox: {tables: [{value: {format: raw}}]}",
       "w.yaml:1: outbox.tables[0].value.format: ", "there is no such key"},
      {"outbox: {messages: {prefixes: a}}",
       "w.yaml:1: outbox.messages.prefixes: ", "'prefix'"},
      {"route: {header: {}}", "w.yaml:1: route.header: ", "'headers'"},
      {"value: {forma: raw}", "w.yaml:1: value.forma: ", "'format'"},
      {"delivery: {timeout: 1s}", "w.yaml:1: delivery.timeout: ", "no such"},
      {"http: {listens: a}", "w.yaml:1: http.listens: ", "'listen'"},
      {"log: {levels: info}", "w.yaml:1: log.levels: ", "'level'"},
      {"polling: {period: 1s}", "w.yaml:1: polling.period: ", "no such key"},
      {"outbox: {tables: [{state: {stats: a}}]}",
       "w.yaml:1: outbox.tables[0].state.stats: ", "'status'"},
      {"'': 1", "w.yaml:1: ", "there is no such key"},
  });
}

TEST(LoaderErrorsTest, ValuesOfTheWrongKindAreNamed) {
  ExpectRefusals({
      {"postgres: [a]", "w.yaml:1: postgres: ", "a mapping of keys"},
      {"log: info", "w.yaml:1: log: ", "a mapping of keys is expected"},
      {"- a\n", "w.yaml:1: ", "a mapping of keys is expected"},
      {"word", "w.yaml:1: ", "a mapping of keys is expected"},
      {"\n\nkafka:\n  - brokers: a\n", "w.yaml:", "kafka: a mapping of keys"},
      {"postgres: {slot: [a]}", "w.yaml:1: postgres.slot: ", "a single value"},
      {"postgres: {slot: {a: b}}", "w.yaml:1: postgres.slot: ", "a single"},
      {"postgres: {create: yes}",
       "w.yaml:1: postgres.create: ", "'yes' is neither true nor false"},
      {"postgres: {create: True}", "w.yaml:1: postgres.create: ", "neither"},
      {"postgres: {failover: 1}", "w.yaml:1: postgres.failover: ", "neither"},
      {"postgres: {status_interval: 200}",
       "w.yaml:1: postgres.status_interval: ", "'200' is not a duration"},
      {"delivery: {max_in_flight_bytes: 16MB}",
       "w.yaml:1: delivery.max_in_flight_bytes: ", "'16MB' is not a size"},
      {"outbox: {tables: {name: a}}", "w.yaml:1: outbox.tables: ", "a list"},
      {"outbox: {tables: [a]}", "w.yaml:1: outbox.tables[0]: ", "a mapping"},
      {"outbox: {tables: [{columns: []}]}",
       "w.yaml:1: outbox.tables[0].columns: ", "a mapping of keys"},
      {"outbox: {tables: [{columns: {id: [a]}}]}",
       "w.yaml:1: outbox.tables[0].columns.id: ", "a single value"},
      {"outbox: {tables: [{columns: {id: ''}}]}",
       "w.yaml:1: outbox.tables[0].columns.id: ", "the column has no name"},
      {"outbox: {tables: [{value: {columns: a}}]}",
       "w.yaml:1: outbox.tables[0].value.columns: ", "a list is expected"},
      {"outbox: {tables: [{value: {columns: [[a]]}}]}",
       "w.yaml:1: outbox.tables[0].value.columns: ", "a single value"},
      {"outbox: {tables: [{value: {columns: [a, b, a]}}]}",
       "w.yaml:1: outbox.tables[0].value.columns: ", "a is listed twice"},
      {"route: {headers: {id: event_id}}",
       "w.yaml:1: route.headers: ", "outbox.tables.columns.id: event_id"},
      {"route: {headers: {walpost-replay: type}}",
       "w.yaml:1: route.headers: ", "reserved"},
      {"route: {headers: [a]}", "w.yaml:1: route.headers: ", "a mapping"},
      {"route: {headers: {a: [b]}}",
       "w.yaml:1: route.headers.a: ", "a single value"},
      {"route:\n  topic: {type|lower}",
       "w.yaml:2: route.topic: ", "put text that begins with { or [ in quotes"},
      {"kafka: {properties: a}", "w.yaml:1: kafka.properties: ", "a mapping"},
      {"kafka:\n  properties:\n    a: {b: c}\n",
       "w.yaml:3: kafka.properties.a: ", "a single value is expected"},
      {"[a]: b", "w.yaml:1: ", "a key must be a word"},
      {"postgres: {~: b}", "w.yaml:1: postgres: ", "a key must be a word"},
  });
}

TEST(LoaderErrorsTest, ValuesOutOfRangeAreNamedWithTheRange) {
  ExpectRefusals({
      {"postgres: {slot: ''}", "w.yaml:1: postgres.slot: ", "not a slot name"},
      {"postgres: {slot: A}", "w.yaml:1: postgres.slot: ", "'A' is not a slot"},
      {"postgres: {slot: a-b}", "w.yaml:1: postgres.slot: ", "a-z, 0-9 and _"},
      {"postgres: {publication: ''}",
       "w.yaml:1: postgres.publication: ", "it is empty"},
      {"postgres: {conninfo: hots=db}",
       "w.yaml:1: postgres.conninfo: ", "libpq does not understand it"},
      {"postgres: {wal_sender_timeout: 999ms}",
       "w.yaml:1: postgres.wal_sender_timeout: ",
       "999ms is not between 1s and 1h"},
      {"postgres: {wal_sender_timeout: 61m}",
       "w.yaml:1: postgres.wal_sender_timeout: ", "not between"},
      {"postgres: {status_interval: 0ms}",
       "w.yaml:1: postgres.status_interval: ", "between 1ms and 1h"},
      {"delivery:\n  max_in_flight_records: 0\n",
       "w.yaml:2: delivery.max_in_flight_records: ", "0 is not between 1 and"},
      {"delivery: {max_in_flight_records: 1048577}",
       "w.yaml:1: delivery.max_in_flight_records: ", "not between"},
      {"delivery: {max_in_flight_bytes: 63KiB}",
       "w.yaml:1: delivery.max_in_flight_bytes: ", "between 64KiB and 4GiB"},
      {"delivery: {max_in_flight_bytes: 5GiB}",
       "w.yaml:1: delivery.max_in_flight_bytes: ", "not between"},
      {"delivery: {shutdown_timeout: 2h}",
       "w.yaml:1: delivery.shutdown_timeout: ", "between 0ms and 1h"},
      {"checkpoint: {store: redis}", "w.yaml:1: checkpoint.store: ",
       "'redis' is not one of none, file, kafka, postgres"},
      {"checkpoint: {path: a/}", "w.yaml:1: checkpoint.path: ", "a file"},
      {"checkpoint: {topic: 'a b'}",
       "w.yaml:1: checkpoint.topic: ", "'a b' is not a topic name"},
      {"checkpoint: {table: a.}", "w.yaml:1: checkpoint.table: ", "a name"},
      {"checkpoint: {interval: 9ms}",
       "w.yaml:1: checkpoint.interval: ", "between 10ms and 10m"},
      {"replay: {window: 1000}", "w.yaml:1: replay.window: ", "64KiB"},
      {"replay: {window_time: 1h}",
       "w.yaml:1: replay.window_time: ", "needs replay.window"},
      {"retention: {keep: week}", "w.yaml:1: retention.keep: ", "1h or 7d"},
      {"retention: {interval: 0s}",
       "w.yaml:1: retention.interval: ", "between 1s and"},
      {"retention: {batch_rows: 0}",
       "w.yaml:1: retention.batch_rows: ", "between 1 and"},
      {"retention: {partitions_ahead: 400}",
       "w.yaml:1: retention.partitions_ahead: ", "between 0 and 366"},
      {"retention: {days: 7}", "w.yaml:1: retention.days: ", "no such key"},
      {"postgres: {publication: "
       "a123456789012345678901234567890123456789012345678901234567890123}",
       "w.yaml:1: postgres.publication: ", "64 bytes"},
      {"outbox: {tables: [{name: "
       "a123456789012345678901234567890123456789012345678901234567890123}]}",
       "w.yaml:1: outbox.tables[0].name: ", "64 bytes"},
      {"log: {level: trace}", "w.yaml:1: log.level: ",
       "'trace' is not one of debug, info, warn, error"},
      {"on_error: {topic_illegal: drop}", "w.yaml:1: on_error.topic_illegal: ",
       "'drop' is not one of stop, dead_letter, park, skip"},
      {"parking: {isolate_after: 3s}",
       "w.yaml:1: parking.isolate_after: ", "is less than 10s"},
      {"{source: polling, polling: {strategy: delete}, parking: "
       "{isolate_after: 30s}}",
       "w.yaml:1: parking.isolate_after: ", "needs source: wal"},
      {"on_error: {poison: skip}",
       "w.yaml:1: on_error.poison: ", "no such key"},
      {"{source: polling, polling: {strategy: delete}, on_error: "
       "{topic_illegal: skip}}",
       "w.yaml:1: on_error: ", "delete rows of public.outbox"},
      {"{source: polling, outbox: {tables: [{name: o, state: {published_at: "
       "p}}]}, on_error: {topic_illegal: skip}}",
       "w.yaml:1: on_error: ", "mark as published rows of public.o"},
      {"{source: polling, polling: {strategy: delete}, on_error: "
       "{topic_illegal: dead_letter}, dead_letter: {payload: none}}",
       "w.yaml:1: dead_letter: ", "only whole payload"},
      {"dead_letter: {topic: 'outbox.event.{aggregate_type}'}",
       "w.yaml:1: dead_letter.topic: ", "is the topic of events"},
      {"dead_letter: {topic: '{region}'}",
       "w.yaml:1: dead_letter.topic: ", "'region' is not a field"},
      {"{retention: {keep: 1h}, on_error: {topic_illegal: skip}}",
       "w.yaml:1: retention: ", "on_error: skip leaves"},
      {"{retention: {keep: 1h}, dead_letter: {payload: cut}}",
       "w.yaml:1: retention: ", "dead_letter.payload leaves"},
      {"{retention: {keep: 1h}, outbox: {tables: [{claim_check_above: 9}]}}",
       "w.yaml:1: retention: ", "large payloads in public.outbox alone"},
      {"{source: polling, polling: {strategy: delete}, outbox: {tables: "
       "[{claim_check_above: 9}]}}",
       "w.yaml:1: outbox: ", "whose rows polling.strategy: delete deletes"},
      {"outbox: {tables: [{claim_check_above: 9, value: {columns: [a]}}]}",
       "w.yaml:1: outbox.tables[0].claim_check_above: ",
       "no column with the payload"},
      {"outbox: {tables: [{claim_check_above: 9, columns: {payload: null}}]}",
       "w.yaml:1: outbox.tables[0].claim_check_above: ",
       "no column with the payload"},
      {"outbox: {tables: [{claim_check_above: 9, columns: {id: null}}]}",
       "w.yaml:1: outbox.tables[0].claim_check_above: ",
       "columns.id is not a column"},
      {"outbox: {tables: [{claim_check_above: 2000000000}]}",
       "w.yaml:1: outbox.tables[0].claim_check_above: ", "not between"},
      {"outbox: {messages: {claim_check_above: 9}}",
       "w.yaml:1: outbox.messages.claim_check_above: ", "no such key"},
      {"{checkpoint: {store: kafka}, dead_letter: {topic: "
       "walpost.checkpoint}}",
       "w.yaml:1: dead_letter: ", "is that of checkpoints"},
      {"{checkpoint: {store: kafka, topic: events}, route: {topic: events}}",
       "w.yaml:1: checkpoint: ", "topic events is that of events"},
      {"route: {create_topics: {partitions: 0}}",
       "w.yaml:1: route.create_topics.partitions: ", "not between"},
      {"route: {create_topics: {replicas: 3}}",
       "w.yaml:1: route.create_topics.replicas: ", "no such key"},
      {"dead_letter: {store: redis}", "w.yaml:1: dead_letter.store: ",
       "'redis' is not one of kafka, postgres"},
      {"dead_letter: {store: postgres, topic: dead}",
       "w.yaml:1: dead_letter.topic: ", "rows of parking.table: remove it"},
      {"dead_letter: {store: postgres, create_topics: {partitions: 1}}",
       "w.yaml:1: dead_letter.create_topics: ", "is for store: kafka"},
      {"{source: polling, polling: {strategy: delete}, dead_letter: {store: "
       "postgres}}",
       "w.yaml:1: dead_letter.store: ", "needs source: wal"},
      {"{retention: {keep: 1h}, on_error: {text_not_utf8: dead_letter}, "
       "dead_letter: {store: postgres}}",
       "w.yaml:1: retention: ", "dead_letter keeps what could be read"},
      {"dead_letter: {payload: half}", "w.yaml:1: dead_letter.payload: ",
       "'half' is not one of whole, cut, none"},
      {"{snapshot: always}",
       "w.yaml:1: snapshot: ", "'always' is not one of never, initial"},
      {"value: {format: avro}",
       "w.yaml:1: value.format: ", "'avro' is not one of raw, protobuf"},
      {"outbox: {messages: {format: text}}",
       "w.yaml:1: outbox.messages.format: ", "not one of json, payload"},
      {"route: {topic: ''}", "w.yaml:1: route.topic: ", "it is empty"},
      {"route: {topic: 'a{b'}", "w.yaml:1: route.topic: ", "'a{b'"},
      {"outbox: {tables: [{topic: '{a|upper}'}]}",
       "w.yaml:1: outbox.tables[0].topic: ", "'upper' is not a function"},
      {"outbox: {messages: {topic: '{}'}}",
       "w.yaml:1: outbox.messages.topic: ", "a name is missing"},
      {"outbox: {tables: [{name: a}, {name: public.a}]}",
       "w.yaml:1: outbox.tables[1].name: ", "public.a is listed twice"},
      {"outbox: {tables: [{name: 't*.o', formerly: [a]}]}",
       "w.yaml:1: outbox.tables[0].formerly: ", "stands for several tables"},
      {"outbox: {tables: [{name: 't*.o'}, {name: a}, {name: 't*.o'}]}",
       "w.yaml:1: outbox.tables[2].name: ", "t*.o is listed twice"},
      {"{source: polling, outbox: {tables: [{name: a, state: {published_at: "
       "p}}, {name: 't*'}]}}",
       "w.yaml:1: outbox.tables[1].state: ", ""},
      {"outbox: {tables: [{name: a}, {name: b, formerly: [a]}]}",
       "w.yaml:1: outbox.tables[1].formerly: ", "give formerly: []"},
      {"outbox: {messages: {format: payload, columns: {id: a}}}",
       "w.yaml:1: outbox.messages.columns.id: ", "has no members"},
      {"{outbox: {messages: {prefix: p, format: payload}}, route: {partition: "
       "shard}}",
       "w.yaml:1: route.partition: ", "set outbox.messages.partition: null"},
      {"{outbox: {messages: {prefix: p, format: payload, partition: shard}}, "
       "route: {topic: t}}",
       "w.yaml:1: route.partition: ", "have no member 'shard'"},
      {"kafka: {brokers: '${env:NONE}'}",
       "w.yaml:1: kafka.brokers: ", "environment variable NONE is not set"},
      {"kafka: {brokers: '${file:/x}'}",
       "w.yaml:1: kafka.brokers: ", "file /x cannot be read"},
      {"kafka: {properties: {a: '${x}'}}",
       "w.yaml:1: kafka.properties.a: ", "'${x}' is neither"},
  });
}

struct Limits {
  std::string key;
  std::string least;
  std::string below;  // "": there is no such number
  std::string most;
  std::string above;
};

TEST(LoaderErrorsTest, ALimitIsTheLastNumberThatIsTaken) {
  const auto letters = [](size_t count) { return std::string(count, 'a'); };
  const std::string hour = "3600001ms";
  const std::vector<Limits> cases = {
      {"postgres.slot", "a", "", letters(63), letters(64)},
      {"postgres.publication", "a", "", letters(63), letters(64)},
      {"postgres.wal_sender_timeout", "1s", "999ms", "1h", hour},
      {"postgres.status_interval", "1ms", "0ms", "1h", hour},
      {"postgres.wal_budget", "0", "", "1125899906842624", "1125899906842625"},
      {"delivery.max_in_flight_records", "1", "0", "1048576", "1048577"},
      {"delivery.max_in_flight_bytes", "65536", "65535", "4294967296",
       "4294967297"},
      {"delivery.shutdown_timeout", "0ms", "", "1h", hour},
      {"delivery.latency_target", "0ms", "", "1s", "1001ms"},
      {"delivery.transaction_interval", "1ms", "0ms", "10s", "10001ms"},
      {"delivery.transaction_idle", "0ms", "", "10s", "10001ms"},
      {"delivery.transaction_timeout", "30s", "29999ms", "1h", hour},
      {"delivery.max_transaction_records", "1", "0", "1000000000",
       "1000000001"},
      {"delivery.max_transaction_bytes", "65536", "65535", "1099511627776",
       "1099511627777"},
      {"polling.interval", "1ms", "0ms", "1h", hour},
      {"polling.batch_size", "1", "0", "100000", "100001"},
      {"polling.lease", "1s", "999ms", "1h", hour},
      {"polling.transaction_timeout", "100ms", "99ms", "1h", hour},
      {"polling.max_attempts", "0", "", "1000000", "1000001"},
      {"polling.retry_backoff", "1ms", "0ms", "5m", "300001ms"},
      {"polling.retry_backoff_max", "1s", "999ms", "1d", "86400001ms"},
      {"polling.notify", "a", "", letters(63), letters(64)},
      {"kafka.max_topics", "1", "0", "1000000", "1000001"},
      {"parking.max_keys", "1", "0", "100000", "100001"},
      {"parking.isolate_after", "10s", "9s", "10s", "9s"},
      {"parking.max_isolated_bytes", "1", "0", "17592186044416",
       "17592186044417"},
      {"checkpoint.topic", "a", "", letters(249), letters(250)},
      {"checkpoint.interval", "10ms", "9ms", "10m", "600001ms"},
      {"replay.window", "65536", "65535", "1125899906842624",
       "1125899906842625"},
      {"retention.keep", "0ms", "", "3660d", "316224000001ms"},
      {"retention.interval", "1s", "999ms", "3660d", "316224000001ms"},
      {"retention.batch_rows", "1", "0", "100000", "100001"},
      {"retention.pause", "0ms", "", "1h", hour},
      {"retention.partitions_ahead", "0", "", "366", "367"},
      {"route.create_topics.partitions", "1", "0", "100000", "100001"},
      {"route.create_topics.replication_factor", "1", "0", "1000", "1001"},
  };
  for (const Limits& limits : cases) {
    for (const std::string& taken : {limits.least, limits.most}) {
      const absl::Status status = Parse("", {limits.key + "=" + taken});
      EXPECT_TRUE(status.ok()) << limits.key << ": " << status;
    }
    for (const std::string& refused : {limits.below, limits.above}) {
      if (refused.empty()) continue;
      EXPECT_TRUE(
          absl::IsInvalidArgument(Parse("", {limits.key + "=" + refused})))
          << limits.key << ": " << refused;
    }
  }
}

// An empty word is no number either; it must not turn into the default.
TEST(LoaderErrorsTest, AnEmptyValueIsOfTheWrongKind) {
  ExpectRefusals({
      {"postgres: {create: ''}", "w.yaml:1: postgres.create: ", ""},
      {"delivery: {shutdown_timeout: '${env:EMPTY}'}",
       "w.yaml:1: delivery.shutdown_timeout: ", ""},
      {"delivery: {max_in_flight_records: ''}",
       "w.yaml:1: delivery.max_in_flight_records: ", ""},
      {"log: {level: ''}", "w.yaml:1: log.level: ", ""},
  });
}

TEST(LoaderErrorsTest, WhatPollingCannotDoIsNamed) {
  ExpectRefusals({
      {"source: slot", "w.yaml:1: source: ", "not one of wal, polling"},
      {"postgres: {origin: own}",
       "w.yaml:1: postgres.origin: ", "not one of any, none"},
      {"{source: polling, polling: {strategy: delete}, postgres: {origin: "
       "none}}",
       "w.yaml:1: postgres.origin: ", "none needs source: wal"},
      {"polling: {strategy: steal}",
       "w.yaml:1: polling.strategy: ", "not one of claim, delete, cursor"},
      {"polling: {interval: 0ms}",
       "w.yaml:1: polling.interval: ", "between 1ms and 1h"},
      {"polling: {batch_size: 0}",
       "w.yaml:1: polling.batch_size: ", "0 is not"},
      {"polling: {lease: 999ms}",
       "w.yaml:1: polling.lease: ", "between 1s and 1h"},
      {"polling: {transaction_timeout: 10ms}",
       "w.yaml:1: polling.transaction_timeout: ", "between 100ms and 1h"},
      {"polling: {retry_backoff: 10m}", "w.yaml:1: polling",
       "retry_backoff_max: it is less than retry_backoff"},
      {"polling: {cursor_table: a.}",
       "w.yaml:1: polling.cursor_table: ", "a name"},
      {"polling: {lease_table: .a}",
       "w.yaml:1: polling.lease_table: ", "a name"},
      {"polling: {strategy: cursor, lease_table: a}",
       "w.yaml:1: polling.lease_table: ", "cursor holds no rows"},
      {"polling: {notify: "
       "a1234567890123456789012345678901234567890123456789012345678901234}",
       "w.yaml:1: polling.notify: ", "at most 63"},
      {"source: polling", "w.yaml:1: outbox: ", "state.status or"},
      {"{source: polling, outbox: {tables: [{name: a}]}}",
       "w.yaml:1: outbox.tables[0].state: ", "state.status or"},
      {"{source: polling, polling: {strategy: cursor}}",
       "w.yaml:1: outbox: ", "xid8"},
      {"{source: polling, polling: {strategy: delete}, outbox: "
       "{messages: {prefix: p}}}",
       "w.yaml:1: outbox: ", "in the WAL only"},
      {"{source: polling, polling: {strategy: delete}, replay: {window: 1GiB}}",
       "w.yaml:1: replay: ", "source: wal"},
      {"{source: polling, polling: {strategy: delete}, snapshot: initial, "
       "postgres: {create: true}}",
       "w.yaml:1: snapshot: ", "remove it"},
      {"{source: polling, polling: {strategy: delete}, "
       "checkpoint: {store: file}}",
       "w.yaml:1: checkpoint: ", "checkpoint.store: none"},
  });
}

TEST(LoaderErrorsTest, AStateThatContradictsItselfIsRefused) {
  ExpectRefusals({
      {"outbox: {tables: [{state: {status: a, published_at: a}}]}",
       "w.yaml:1: outbox.tables[0].state.published_at: ",
       "'a' is status already"},
      {"outbox: {tables: [{state: {locked_until: a, heartbeat_at: b}}]}",
       "w.yaml:1: outbox.tables[0].state.heartbeat_at: ", "not both"},
      {"outbox: {tables: [{state: {status: a, pending: ''}}]}",
       "w.yaml:1: outbox.tables[0].state.pending: ", "it is empty"},
      {"outbox: {tables: [{state: {status: a, published: pending}}]}",
       "w.yaml:1: outbox.tables[0].state.published: ", "value of pending"},
      {"outbox: {tables: [{state: {status: a, failed: published}}]}",
       "w.yaml:1: outbox.tables[0].state.failed: ", "value of published"},
      {"outbox: {tables: [{state: {status: a, processing: failed}}]}",
       "w.yaml:1: outbox.tables[0].state.processing: ", "another state"},
  });
}

TEST(LoaderErrorsTest, ATableHasAName) {
  ExpectRefusals({
      {"outbox: {tables: [{name: ''}]}",
       "w.yaml:1: outbox.tables[0].name: ", ""},
      {"outbox: {tables: [{name: 'public.'}]}",
       "w.yaml:1: outbox.tables[0].name: ", ""},
      {"outbox: {tables: [{name: '.outbox'}]}",
       "w.yaml:1: outbox.tables[0].name: ", ""},
  });
}

TEST(LoaderErrorsTest, KeysThatOccurTwiceAreNamed) {
  ExpectRefusals({
      {"log: {}\nlog: {}\n", "w.yaml:", "log: the key occurs twice"},
      {"log:\n  level: info\n  level: warn\n",
       "w.yaml:", "log.level: the key occurs twice"},
      {"kafka: {properties: {a: 1, a: 1}}",
       "w.yaml:1: kafka.properties.a: ", "the key occurs twice"},
  });
}

TEST(LoaderErrorsTest, WhatIsNoYamlNamesItsLine) {
  ExpectRefusals({
      {"a: [", "w.yaml:", "this line is not YAML"},
      {"log: {}\n\tkafka: {}\n", "w.yaml:2: ", "this line is not YAML"},
      {"log: info: warn\n", "w.yaml:1: ", "this line is not YAML"},
      {"kafka: *none\n", "w.yaml:1: ", "this line is not YAML"},
      {"}", "w.yaml:1: ", "this line is not YAML"},
      {",", "w.yaml:1: ", "this belongs to nothing before it"},
      {"log: {}\n  ,kafka: {}\n", "w.yaml:2: ", "this line is not YAML"},
      {"log: {}\n]\n", "w.yaml:2: ", "this line is not YAML"},
  });
}

// All of a file counts; nobody sees that a second document is left out.
TEST(LoaderErrorsTest, ASecondDocumentIsRefused) {
  ExpectRefusals({{"log: {}\n---\nlog: {level: debug}\n",
                   "w.yaml:2: ", "remove the line '---'"}});
}

TEST(LoaderErrorsTest, AnErrorInAnOverrideBlamesTheOverride) {
  for (const char* override :
       {"log.level=trace", "kafka.broker=a", "outbox.tables=a",
        "delivery.shutdown_timeout=soon", "kafka.properties.a=[b]",
        "log={level: trace}", "outbox.tables=[{nam: a}]", "nowhere.at.all=1",
        "kafka.properties={a: [b]}", "log.level=[", "route.headers={",
        "log.level=info ,", "log.level=,"}) {
    const absl::Status status = Parse("{}", {override});
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << override << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--set")) << override;
  }
}

TEST(LoaderErrorsTest, DeepNestingIsRefusedNotACrash) {
  for (const std::string piece : {"[", "{a: ", "- ", "? ", "a:\n "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += piece;
    EXPECT_TRUE(absl::IsInvalidArgument(Parse(text))) << piece;
    EXPECT_TRUE(absl::IsInvalidArgument(Parse("kafka: " + text))) << piece;
  }
}

// A billion laughs: 10^20 words if anyone spelled them out.
TEST(LoaderErrorsTest, AliasesAreNotSpelledOut) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j == 0 ? "" : ", ") + before;
    text += "]\n";
  }
  for (const char* use : {"", "kafka: *a19\n", "outbox: {tables: *a19}\n",
                          "outbox: {tables: [{value: {columns: *a19}}]}\n",
                          "route: {headers: {a: *a19}}\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Parse(text + use))) << use;
  }
}

TEST(LoaderErrorsTest, AnAliasOfItselfIsRefusedNotFollowed) {
  for (const char* text :
       {"outbox: &o {tables: [*o]}", "kafka: &k {properties: *k}",
        "outbox: {tables: &t [*t]}", "route: &r {headers: {a: *r}}",
        "outbox: {tables: [{columns: &c {id: *c}}]}", "&a [*a]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Parse(text))) << text;
  }
}

}  // namespace
}  // namespace walpost
