#include "import/debezium_import.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "import/connector_file.h"
#include "import/key_rules.h"

namespace walpost {
namespace {

using Kind = ImportNote::Kind;

std::string Content(const std::string& name) {
  const std::ifstream file(std::string(WALPOST_SOURCE_DIR) +
                           "/tests/import/connectors/" + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

struct SampleFile {
  const char* name;
  const char* worker;
  const char* version;
};

// tests/config/imported_config_test.cc loads what is expected here.
TEST(DebeziumImportTest, TranslatesConnectorsOfEachForm) {
  const SampleFile samples[] = {
      {"minimal.json", nullptr, ""},
      {"placements.json", nullptr, "3.3"},
      {"regex.json", nullptr, ""},
      {"secured.json", nullptr, "2.7"},
      {"strimzi.yaml", nullptr, ""},
      {"standalone.properties", "worker.properties", ""},
      {"server.properties", nullptr, ""},
      {"messages.json", nullptr, ""},
      {"filters.json", nullptr, ""},
      {"older.json", nullptr, ""},
      {"older.json", "worker.properties", ""},
  };
  for (const auto& [name, worker, version] : samples) {
    SCOPED_TRACE(name);
    auto file = ReadConnectorFile(Content(name));
    ASSERT_TRUE(file.ok()) << file.status();
    Settings its;
    ImportOptions options;
    options.file = name;
    options.version = version;
    if (worker != nullptr) {
      its = *ReadWorkerFile(Content(worker));
      options.has_worker = true;
    }
    const auto result =
        ImportConnector(*std::move(file), std::move(its), options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_FALSE(result->report.has(Kind::kRefused));
    EXPECT_EQ(result->yaml,
              Content(std::string(name) + (worker == nullptr ? "" : ".worker") +
                      ".expected.yaml"));
    EXPECT_EQ(result->yaml.find("secret}"), std::string::npos);
  }
}

// A connector that is carried over without a word, with some changes.
using Changes = std::vector<std::pair<std::string, std::string>>;

ConnectorFile ConnectorWith(const Changes& changes) {
  ConnectorFile file;
  Changes all = {
      {"connector.class", "io.debezium.connector.postgresql.PostgresConnector"},
      {"plugin.name", "pgoutput"},
      {"database.hostname", "pg"},
      {"database.user", "u"},
      {"database.dbname", "d"},
      {"topic.prefix", "p"},
      {"table.include.list", "public.outbox"},
      {"snapshot.mode", "no_data"},
      {"key.converter", "org.apache.kafka.connect.storage.StringConverter"},
      {"value.converter", "org.apache.kafka.connect.storage.StringConverter"},
      {"producer.override.bootstrap.servers", "k:9092"},
      {"transforms", "outbox"},
      {"transforms.outbox.type", "io.debezium.transforms.outbox.EventRouter"},
  };
  all.insert(all.end(), changes.begin(), changes.end());
  for (const auto& [name, value] : all) file.settings.Add(name, name, value);
  return file;
}

ImportResult ImportWith(const Changes& changes) {
  auto result = ImportConnector(ConnectorWith(changes), {}, {});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : ImportResult();
}

TEST(DebeziumImportTest, HasNothingToSayOfAPlainConnector) {
  const ImportResult result = ImportWith({});
  for (const Kind kind : {Kind::kRefused, Kind::kOpen, Kind::kRemark}) {
    EXPECT_FALSE(result.report.has(kind)) << result.yaml;
  }
}

struct Noted {
  const char* name;
  const char* value;
  Kind kind;
  const char* text;
};

constexpr char kRouter[] = "transforms.outbox.";

TEST(DebeziumImportTest, SaysOfEachSettingWhatBecomesOfIt) {
  const Noted rows[] = {
      {"no.such.setting", "x", Kind::kRefused,
       "not a setting of the connector"},
      {"slot.nmae", "x", Kind::kRefused, "did you mean slot.name"},
      {"plugin.name", "decoderbufs", Kind::kRefused, "pgoutput alone"},
      {"plugin.name", "wal2json", Kind::kRefused, "pgoutput alone"},
      {"slot.drop.on.stop", "true", Kind::kOpen, "set it to false"},
      {"slot.drop.on.stop", "false", Kind::kNotNeeded, "does so in any case"},
      {"slot.stream.params", "a=b", Kind::kRefused, "options of the stream"},
      {"database.sslfactory", "a.B", Kind::kRefused, "sslrootcert"},
      {"database.sslkey", "/k.pk8", Kind::kRemark, "openssl pkcs8"},
      {"database.sslkey", "/k.pem", Kind::kNotNeeded, nullptr},
      {"database.initial.statements", "set x", Kind::kOpen, "ALTER ROLE"},
      {"table.include.list", ".*outbox", Kind::kRefused, "--table"},
      {"table.include.list", "public.outbox[0-9]", Kind::kRefused, "--table"},
      {"table.include.list", "public.*", Kind::kRefused, "--table"},
      {"table.include.list", "${env:TABLES}", Kind::kRefused, "reference"},
      {"table.include.list", "Public.Outbox", Kind::kRemark, "ignores case"},
      {"schema.include.list", "other", Kind::kRefused, "outside of it"},
      {"schema.include.list", "public", Kind::kNotNeeded, "names"},
      {"table.exclude.list", "public.outbox", Kind::kRefused, "outside of it"},
      {"column.exclude.list", "public.outbox.type", Kind::kNotNeeded,
       "not about"},
      {"column.exclude.list", "public.outbox.payload", Kind::kRefused,
       "public.outbox.payload"},
      {"column.include.list", "public.outbox.id", Kind::kRefused,
       "public.outbox.aggregatetype"},
      {"column.mask.with.5.chars", "public.outbox.payload", Kind::kRefused,
       "public.outbox.payload"},
      {"column.mask.hash.SHA-256.with.salt.x", ".*email", Kind::kNotNeeded,
       "not about"},
      {"column.truncate.to.10.chars", "(?=x)", Kind::kRefused, "look-ahead"},
      {"column.propagate.source.type", ".*", Kind::kRefused, "parameters"},
      {"snapshot.mode", "initial", Kind::kRemark, "snapshot: never"},
      {"snapshot.mode", "always", Kind::kOpen, "replay -c FILE --from-table"},
      {"snapshot.mode", "when_needed", Kind::kRemark, "recover"},
      {"snapshot.mode", "initial_only", Kind::kRefused, "initial_only"},
      {"snapshot.mode", "custom", Kind::kRefused, "custom"},
      {"snapshot.fetch.size", "5", Kind::kNotNeeded, "not read again"},
      {"skipped.operations", "c", Kind::kRefused, "INSERTs"},
      {"skipped.operations", "none", Kind::kRemark, "TRUNCATE"},
      {"skipped.operations", "t,u", Kind::kNotNeeded, "only INSERTs"},
      {"heartbeat.interval.ms", "5000", Kind::kRemark, "idle outbox"},
      {"heartbeat.interval.ms", "0", Kind::kNotNeeded, "off"},
      {"heartbeat.action.query", "insert", Kind::kNotNeeded, "dropped"},
      {"provide.transaction.metadata", "true", Kind::kRefused, "transactions"},
      {"provide.transaction.metadata", "false", Kind::kNotNeeded, "any case"},
      {"tombstones.on.delete", "true", Kind::kNotNeeded, "tombstones"},
      {"converters", "isbn", Kind::kRefused, "Java"},
      {"money.fraction.digits", "3", Kind::kRefused, "two digits"},
      {"schema.name.adjustment.mode", "avro", Kind::kNotNeeded,
       "without their schemas"},
      {"field.name.adjustment.mode", "avro", Kind::kNotNeeded, "no column"},
      {"topic.delimiter", "_", Kind::kNotNeeded, "without their schemas"},
      {"topic.naming.strategy", "a.B", Kind::kNotNeeded,
       "without their schemas"},
      {"flush.lsn.source", "false", Kind::kRefused, "confirms"},
      {"lsn.flush.mode", "manual", Kind::kRefused, "confirms"},
      {"event.processing.failure.handling.mode", "skip", Kind::kOpen,
       "on_error"},
      {"errors.tolerance", "all", Kind::kOpen, "on_error"},
      {"errors.tolerance", "none", Kind::kNotNeeded, "any case"},
      {"signal.data.collection", "public.s", Kind::kOpen, "no signals"},
      {"notification.enabled.channels", "sink", Kind::kOpen, "notifications"},
      {"exactly.once.support", "required", Kind::kRemark, "read_committed"},
      {"exactly.once.support", "requested", Kind::kNotNeeded, "worker"},
      {"decimal.handling.mode", "exact", Kind::kRefused,
       "not one of precise, string, double"},
      {"extended.headers.enabled", "maybe", Kind::kRefused,
       "not true or false"},
      {"topic.creation.groups", "big", Kind::kRefused, "beforehand"},
      {"message.key.columns", "public.outbox:a", Kind::kOpen, "primary key"},
      {"unavailable.value.placeholder", "XXX", Kind::kRefused,
       "__debezium_unavailable_value"},
      {"unavailable.value.placeholder", "__debezium_unavailable_value",
       Kind::kNotNeeded, "any case"},
      {"slot.failover", "true", Kind::kRemark, "PostgreSQL 17"},
      {"topic.creation.enable", "true", Kind::kNotNeeded, "of the worker"},
      {"database.server.name", "p", Kind::kNotNeeded, "topic.prefix instead"},
      {"database.user", "${PG_USER}", Kind::kOpen,
       "write ${env:PG_USER} there"},
      {"database.password", "${PG_PASSWORD}", Kind::kRemark,
       "the file has the secret itself"},
      {"topic.creation.default.include", "x", Kind::kRefused, "alike"},
      {"topic.creation.big.include", "x", Kind::kRefused, "not a setting"},
      {"key.converter", "io.confluent.connect.avro.AvroConverter",
       Kind::kRefused, "schema registry"},
      {"value.converter", "io.debezium.converters.CloudEventsConverter",
       Kind::kRefused, "walpost has StringConverter"},
      {"header.converter", "a.B", Kind::kRefused, "SimpleHeaderConverter"},
      {"value.converter.schemas.enable", "true", Kind::kNotNeeded,
       "does not read"},
      {"value.converter.no.such", "x", Kind::kRefused, "not an option"},
      {"header.converter.schemas.enable", "true", Kind::kRefused,
       "without header.converter it has no effect"},
      {"message.prefix.include.list", "x", Kind::kRefused,
       "without io.debezium"},
      {"message.prefix.exclude.list", ".*", Kind::kNotNeeded, "no messages"},
      {"transforms", "outbox,unwrap", Kind::kRefused, "'unwrap'"},
      {"producer.override.acks", "1", Kind::kRefused, "all replicas"},
      {"producer.override.acks", "all", Kind::kNotNeeded, "any case"},
      {"producer.override.partitioner.class", "a.B", Kind::kRefused, "murmur2"},
      {"producer.override.interceptor.classes", "a.B", Kind::kRefused, "Java"},
      {"producer.override.no.such", "x", Kind::kRefused, "Kafka's producer"},
      {"producer.override.buffer.memory", "9", Kind::kNotNeeded,
       "max_in_flight"},
      {"producer.override.transactional.id", "x", Kind::kRefused,
       "exactly_once"},
      {"producer.override.sasl.mechanism", "AWS_MSK_IAM", Kind::kRefused,
       "token_command"},
      {"producer.override.sasl.jaas.config", "a.Krb5LoginModule required;",
       Kind::kRefused, "PlainLoginModule"},
      {"producer.override.sasl.login.callback.handler.class", "a.B",
       Kind::kRefused, "Java"},
      {"producer.override.sasl.oauthbearer.token.endpoint.url", "https://x",
       Kind::kRefused, "oidc"},
      {"producer.override.ssl.truststore.location", "/t.jks", Kind::kRefused,
       "keytool -exportcert"},
      {"producer.override.ssl.keystore.location", "/k.jks", Kind::kRefused,
       "keytool -importkeystore"},
      {"producer.override.ssl.protocol", "TLSv1.3", Kind::kNotNeeded,
       "OpenSSL"},
      {"database.password", "hunter2", Kind::kRemark, "POSTGRES_PASSWORD"},
      {"database.password", "${vault:secret/db:pw}", Kind::kRemark,
       "DB_PW to the value of pw in secret/db (vault)"},
  };
  for (const Noted& row : rows) {
    SCOPED_TRACE(std::string(row.name) + "=" + row.value);
    const ImportResult result = ImportWith({{row.name, row.value}});
    EXPECT_EQ(result.yaml.find("hunter2"), std::string::npos);
    bool is_found = row.text == nullptr;
    for (const ImportNote& note : result.report.notes()) {
      is_found |= row.text != nullptr && note.kind == row.kind &&
                  note.text.find(row.text) != std::string::npos;
    }
    EXPECT_TRUE(is_found) << result.yaml;
    EXPECT_EQ(result.report.has(Kind::kRefused), row.kind == Kind::kRefused)
        << result.yaml;
  }
}

TEST(DebeziumImportTest, SaysOfEachSettingOfTheRouterWhatBecomesOfIt) {
  const Noted rows[] = {
      {"no.such", "x", Kind::kRefused, "outbox event router"},
      {"table.field.event.typ", "x", Kind::kRefused,
       "did you mean table.field.event.type"},
      {"table.field.event.type", "t", Kind::kNotNeeded, "never reads"},
      {"table.op.invalid.behavior", "explode", Kind::kRefused, "not one of"},
      {"route.topic.regex", "(?!x).*", Kind::kRefused, "look-ahead"},
      {"route.topic.regex", "(", Kind::kRefused, "'(' without its ')'"},
      {"route.topic.replacement", "$7", Kind::kRefused, "no group 7"},
      {"table.fields.additional.placement", "type", Kind::kRefused, "'type'"},
      {"table.fields.additional.placement", "", Kind::kRefused, "''"},
      {"table.fields.additional.placement", "type:bogus:x", Kind::kRefused,
       "'type:bogus:x'"},
      {"table.fields.additional.placement", "type:header:a:b", Kind::kRefused,
       "'type:header:a:b'"},
      {"table.fields.additional.placement", "type:envelope:payload",
       Kind::kRefused, "two members 'payload'"},
      {"table.field.additional.missing", "maybe", Kind::kRefused, "not one of"},
      {"tracing.operation.name", "x", Kind::kOpen, "traceparent"},
      {"field.name.adjustment.mode", "avro", Kind::kRefused, "loses"},
      {"predicate", "none", Kind::kRefused, "is not known"},
  };
  for (const Noted& row : rows) {
    SCOPED_TRACE(std::string(row.name) + "=" + row.value);
    const ImportResult result =
        ImportWith({{std::string(kRouter) + row.name, row.value}});
    bool is_found = false;
    for (const ImportNote& note : result.report.notes()) {
      is_found |= note.kind == row.kind &&
                  note.text.find(row.text) != std::string::npos;
    }
    EXPECT_TRUE(is_found) << result.yaml;
  }
}

TEST(DebeziumImportTest, JsonConvertersHaveOneFormatOfDecimals) {
  const std::string json = "org.apache.kafka.connect.json.JsonConverter";
  const Changes both = {{"key.converter", json}, {"value.converter", json}};
  const auto with = [&](Changes more) {
    more.insert(more.begin(), both.begin(), both.end());
    return ImportWith(more);
  };
  EXPECT_FALSE(with({}).report.has(Kind::kRefused));
  EXPECT_TRUE(with({{"key.converter.decimal.format", "NUMERIC"}})
                  .report.has(Kind::kRefused));
  EXPECT_TRUE(with({{"value.converter.decimal.format", "NUMERIC"}})
                  .report.has(Kind::kRefused));
  EXPECT_TRUE(with({{"header.converter", json},
                    {"key.converter.decimal.format", "NUMERIC"},
                    {"value.converter.decimal.format", "NUMERIC"}})
                  .report.has(Kind::kRefused));
  const ImportResult result =
      with({{"key.converter.decimal.format", "NUMERIC"},
            {"value.converter.decimal.format", "NUMERIC"},
            {"key.converter.replace.null.with.default", "false"}});
  EXPECT_FALSE(result.report.has(Kind::kRefused));
  EXPECT_NE(result.yaml.find("json_decimals: numeric"), std::string::npos);
  EXPECT_NE(result.yaml.find("key.converter.replace.null"), std::string::npos);
}

TEST(DebeziumImportTest, RefusesNamesThatConsumersWouldSee) {
  const Changes with_schemas = {
      {"value.converter", "org.apache.kafka.connect.json.JsonConverter"}};
  for (const auto& [name, value] :
       Changes{{"schema.name.adjustment.mode", "avro"},
               {"topic.delimiter", "_"},
               {"topic.naming.strategy", "a.B"}}) {
    Changes changes = with_schemas;
    changes.emplace_back(name, value);
    EXPECT_TRUE(ImportWith(changes).report.has(Kind::kRefused)) << name;
  }
  EXPECT_TRUE(ImportWith({{"field.name.adjustment.mode", "avro"},
                          {"transforms.outbox.table.field.event.id", "a-b"}})
                  .report.has(Kind::kRefused));
}

// Each key of a rule that is refused or open says why.
TEST(DebeziumImportTest, NoRuleIsHiddenByAnother) {
  for (const auto rules :
       {ConnectorRules(), RouterRules(), ProducerRules(), ServerRules()}) {
    for (const KeyRule& rule : rules) {
      std::string name(rule.name);
      if (name.ends_with('*')) name.back() = 'x';
      const KeyRule* found = FindRule(rules, name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->name, rule.name);
      EXPECT_FALSE(rule.text.empty()) << rule.name;
    }
  }
}

TEST(DebeziumImportTest, TopicsAreTemplatesOrPatterns) {
  const std::pair<Changes, const char*> rows[] = {
      {{}, "\"outbox.event.{aggregate_type|allow_empty}\""},
      {{{"transforms.outbox.route.topic.replacement", "${routedByValue}"}},
       "\"{aggregate_type|allow_empty}\""},
      {{{"transforms.outbox.route.topic.replacement", "a.$1.b"}},
       "\"a.{aggregate_type|allow_empty}.b\""},
      {{{"transforms.outbox.route.topic.regex", "(.*)"},
        {"transforms.outbox.route.topic.replacement", "x-$1"}},
       "\"x-{aggregate_type|allow_empty}\""},
      {{{"transforms.outbox.route.topic.replacement", "$11"}},
       "'{aggregate_type|match:(?<routedByValue>.*):$11}'"},
      {{{"transforms.outbox.route.topic.replacement", "all"}},
       "'{aggregate_type|match:(?<routedByValue>.*):all}'"},
      {{{"transforms.outbox.route.topic.regex", "a|ab"},
        {"transforms.outbox.route.topic.replacement", "X"}},
       "'{aggregate_type|match:a\\|ab:X}'"},
  };
  for (const auto& [changes, topic] : rows) {
    const std::string yaml = ImportWith(changes).yaml;
    std::string quoted = topic;
    if (quoted.find('\\') == std::string::npos && quoted[0] == '\'') {
      quoted.front() = quoted.back() = '"';
    }
    EXPECT_NE(yaml.find("  topic: " + quoted + "\n"), std::string::npos)
        << yaml << quoted;
  }
}

TEST(DebeziumImportTest, TheReleaseDecidesAboutHeaders) {
  const std::pair<const char*, const char*> rows[] = {
      {"", nullptr},      {"3.4", nullptr},          {"4.0", nullptr},
      {"3.2", "\"3.2\""}, {"3.3", "\"3.2\""},        {"3.1", "none"},
      {"2.7", "none"},    {"3.3.1.Final", "\"3.2\""}};
  for (const auto& [version, expected] : rows) {
    ImportOptions options;
    options.version = version;
    const auto result = ImportConnector(ConnectorWith({}), {}, options);
    ASSERT_TRUE(result.ok());
    const size_t at = result->yaml.find("context_headers: ");
    EXPECT_EQ(at == std::string::npos, expected == nullptr) << version;
    if (expected != nullptr) {
      EXPECT_EQ(result->yaml.find(std::string("context_headers: ") + expected),
                at);
    }
  }
  ImportOptions options;
  options.version = "newest";
  EXPECT_FALSE(ImportConnector(ConnectorWith({}), {}, options).ok());
}

TEST(DebeziumImportTest, RefusesWhatIsNoOutboxConnectorForPostgres) {
  const std::pair<Changes, const char*> rows[] = {
      {{{"connector.class", "io.debezium.connector.mysql.MySqlConnector"}},
       "not for Postgres"},
      {{{"transforms", ""}}, "transforms has no"},
      {{{"transforms.outbox.type",
         "io.debezium.transforms.ExtractNewRecordState"}},
       "transforms has no"},
  };
  for (const auto& [changes, text] : rows) {
    const absl::Status status =
        ImportConnector(ConnectorWith(changes), {}, {}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_NE(std::string(status.message()).find(text), std::string::npos)
        << status;
  }
}

TEST(ConnectorFileTest, FindsTheConnectorOfAList) {
  for (const char* const list :
       {"kind: List\nitems", "kind: Template\nobjects"}) {
    const std::string text = std::string(list) +
                             ":\n- kind: KafkaConnect\n- kind: KafkaConnector\n"
                             "  spec: {class: c, config: {a: b}}\n";
    auto file = ReadConnectorFile(text);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->settings.Find("connector.class")->value, "c");
    EXPECT_EQ(file->settings.Find("a")->value, "b");
    EXPECT_FALSE(ReadConnectorFile(text + "- kind: KafkaConnector\n").ok());
  }
}

TEST(ConnectorFileTest, NamesWhatIsNoConnector) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "it is empty"},
      {" \n", "it is empty"},
      {"{\"a\": ", "line 1"},
      {"[1]", "not an object"},
      {"{\"config\": 1}", "not an object"},
      {"{\"a\": {\"b\": 1}}", "\"a\" is not a text"},
      {"hello", "no connector.class"},
      {"a=b\n", "debezium.source.connector.class"},
      {"kind: KafkaConnector\nspec: {config: ]\n", "cannot be read as YAML"},
      {"kind: KafkaConnector\n", "no KafkaConnector with a spec.config"},
      {"a=\\u12\n", "line 1: \\u"},
      {"\xFF", "not UTF-8"},
  };
  for (const auto& [text, reason] : rows) {
    const absl::Status status = ReadConnectorFile(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(std::string(status.message()).find(reason), std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace walpost
