#include "import/key_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/nearest_word.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using enum KeyRule::Treatment;

constexpr char kBuffers[] = "delivery.max_in_flight_* limits what waits";
constexpr char kRetries[] = "walpost retries without an end";
constexpr char kReads[] = "walpost reads the stream as fast as Kafka takes it";
constexpr char kNoSnapshot[] =
    "the outbox is not read again when the slot is taken over";
constexpr char kNoSignals[] =
    "there are no signals; walpost replay -c FILE --from-table sends rows of "
    "the table again";
constexpr char kNoOtherTopic[] =
    "walpost writes no notifications: use its metrics and /status";
constexpr char kOwnGuarantee[] =
    "walpost always waits for all replicas, and its producer is idempotent";
constexpr char kMonitoring[] = "walpost has its own metrics";

constexpr KeyRule kConnectorRules[] = {
    {"name", kNotNeeded, "walpost has no names of connectors"},
    {"connector.class", kCarried, "records.profile"},
    {"tasks.max", kNotNeeded, "one process reads the slot"},
    {"tasks.max.enforce", kNotNeeded, "one process reads the slot"},
    {"topic.prefix", kCarried, "records.logical_name"},
    {"database.server.name", kCarried, "records.logical_name"},
    // The database.
    {"database.hostname", kCarried, "postgres.conninfo"},
    {"database.port", kCarried, "postgres.conninfo"},
    {"database.user", kCarried, "postgres.conninfo"},
    {"database.password", kCarried, "postgres.conninfo"},
    {"database.dbname", kCarried, "postgres.conninfo"},
    {"database.sslmode", kCarried, "postgres.conninfo"},
    {"database.sslcert", kCarried, "postgres.conninfo"},
    {"database.sslkey", kCarried, "postgres.conninfo"},
    {"database.sslpassword", kCarried, "postgres.conninfo"},
    {"database.sslrootcert", kCarried, "postgres.conninfo"},
    {"database.tcpKeepAlive", kCarried, "postgres.conninfo"},
    {"database.sslfactory", kRefused,
     "libpq has no classes of Java: use sslmode, sslrootcert, sslcert and "
     "sslkey in postgres.conninfo"},
    {"database.initial.statements", kOpen,
     "walpost makes its own settings in each session; use ALTER ROLE ... SET "
     "for others"},
    {"database.query.timeout.ms", kNotNeeded, "walpost has its own limits"},
    {"database.history*", kNotNeeded, "Postgres connectors have no history"},
    {"connection.validation.timeout.ms", kNotNeeded, kRetries},
    {"plugin.name", kCarried, "postgres.slot"},
    {"slot.name", kCarried, "postgres.slot"},
    {"slot.failover", kCarried, "postgres.failover"},
    {"slot.drop.on.stop", kOpen,
     "set it to false in the connector before you stop it: otherwise the slot "
     "is dropped, and events are lost",
     "false"},
    {"slot.stream.params", kRefused,
     "walpost chooses the options of the stream itself"},
    {"slot.max.retries", kNotNeeded, kRetries},
    {"slot.retry.delay.ms", kNotNeeded, kRetries},
    {"publication.name", kCarried, "postgres.publication"},
    {"publication.autocreate.mode", kNotNeeded,
     "the publication exists; walpost init -c FILE makes or completes it"},
    {"publish.via.partition.root", kNotNeeded,
     "the publication exists, and keeps this"},
    {"replica.identity.autoset.values", kNotNeeded,
     "an INSERT does not depend on it"},
    {"table.include.list", kCarried, "outbox.tables[].name"},
    {"table.exclude.list", kCarried, "outbox.tables[].name"},
    {"schema.include.list", kCarried, "outbox.tables[].name"},
    {"schema.exclude.list", kCarried, "outbox.tables[].name"},
    {"table.ignore.builtin", kNotNeeded, "only tables of the list are read"},
    {"column.include.list", kCarried, "-"},
    {"column.exclude.list", kCarried, "-"},
    {"column.mask.*", kCarried, "-"},
    {"column.truncate.*", kCarried, "-"},
    {"column.propagate.source.type", kRefused,
     "schemas of values would have parameters"},
    {"datatype.propagate.source.type", kRefused,
     "schemas of values would have parameters"},
    {"message.key.columns", kOpen,
     "the router replaces the key, but an UPDATE of these columns is an event "
     "with Debezium. walpost goes by the primary key: without such UPDATEs "
     "nothing is different"},
    {"message.prefix.include.list", kCarried, "outbox.messages.prefix"},
    {"message.prefix.exclude.list", kCarried, "outbox.messages.prefix"},
    {"converters", kRefused,
     "custom converters are Java: list the column as it is, or convert it "
     "where the row is written",
     "|"},
    // Types.
    {"decimal.handling.mode", kCarried, "records.decimal"},
    {"time.precision.mode", kCarried, "records.time_precision"},
    {"binary.handling.mode", kCarried, "records.binary"},
    {"interval.handling.mode", kCarried, "records.interval"},
    {"hstore.handling.mode", kCarried, "records.hstore"},
    {"include.unknown.datatypes", kCarried, "records.unknown_types"},
    {"money.fraction.digits", kRefused,
     "a money column always has two digits after the point", "2"},
    {"unavailable.value.placeholder", kRefused,
     "walpost writes __debezium_unavailable_value where an UPDATE of the key "
     "leaves a large value as it was: remove it, if keys are not updated",
     "__debezium_unavailable_value"},
    {"extended.headers.enabled", kCarried, "records.context_headers"},
    {"schema.name.adjustment.mode", kRefused,
     "names of schemas would be others: leave it out, if no consumer reads "
     "the names",
     "none"},
    {"field.name.adjustment.mode", kRefused, "names of members would be others",
     "none"},
    {"sanitize.field.names", kRefused, "names of members would be others",
     "false"},
    {"topic.delimiter", kRefused, "names of schemas would be others", "."},
    {"topic.naming.strategy", kRefused,
     "names of schemas and of the heartbeat topic would be others",
     "io.debezium.schema.SchemaTopicNamingStrategy"},
    {"topic.cache.size", kNotNeeded, "nothing is cached by topic"},
    {"topic.transaction", kNotNeeded, "there is no transaction topic"},
    {"sourceinfo.struct.maker", kNotNeeded, "the router leaves out the source"},
    {"source.struct.version", kNotNeeded, "the router leaves out the source"},
    {"event.converting.failure.handling.mode", kNotNeeded,
     "a value that cannot be converted stops the flow"},
    // Snapshots.
    {"snapshot.mode", kCarried, "snapshot"},
    {"snapshot.*", kNotNeeded, kNoSnapshot},
    {"incremental.snapshot.*", kNotNeeded, kNoSignals},
    {"streaming.delay.ms", kNotNeeded, kNoSnapshot},
    {"min.row.count.to.stream.results", kNotNeeded, kNoSnapshot},
    {"signal.data.collection", kOpen, kNoSignals, "|"},
    {"signal.*", kNotNeeded, kNoSignals},
    {"read.only", kNotNeeded, kNoSignals},
    {"notification.enabled.channels", kOpen, kNoOtherTopic, "|log|jmx|log,jmx"},
    {"notification.*", kNotNeeded, kNoOtherTopic},
    // What walpost does without.
    {"heartbeat.interval.ms", kCarried, "-"},
    {"heartbeat.action.query", kNotNeeded,
     "walpost confirms the WAL of an idle outbox; once it runs, the table of "
     "the query can be dropped"},
    {"heartbeat.topics.prefix", kNotNeeded, "there is no heartbeat topic"},
    {"topic.heartbeat.prefix", kNotNeeded, "there is no heartbeat topic"},
    {"topic.heartbeat.name", kNotNeeded, "there is no heartbeat topic"},
    {"heartbeat.*", kNotNeeded, "there is no heartbeat topic"},
    {"provide.transaction.metadata", kRefused,
     "nothing writes the topic of transactions: set it to false, if nobody "
     "reads it",
     "false"},
    {"transaction.metadata.factory", kNotNeeded,
     "there is no transaction topic"},
    {"transaction.topic", kNotNeeded, "there is no transaction topic"},
    {"tombstones.on.delete", kNotNeeded, "the router drops tombstones"},
    {"skipped.operations", kCarried, "records.on_update"},
    {"status.update.interval.ms", kNotNeeded, "postgres.status_interval"},
    {"flush.lsn.source", kRefused,
     "walpost confirms what is in Kafka; nothing else may move the slot",
     "true"},
    {"lsn.flush.mode", kRefused,
     "walpost confirms what is in Kafka; nothing else may move the slot",
     "connector|connector_and_driver"},
    {"lsn.flush.timeout.*", kNotNeeded, "walpost reports LSNs in the stream"},
    {"offset.mismatch.strategy", kNotNeeded,
     "walpost stops at a gap and names it"},
    {"xmin.fetch.interval.ms", kNotNeeded, "walpost does not store the xmin"},
    {"schema.refresh.mode", kNotNeeded, "walpost reads types from the stream"},
    {"max.queue.size*", kNotNeeded, kBuffers},
    {"max.batch.size", kNotNeeded, kBuffers},
    {"poll.interval.ms", kNotNeeded, kReads},
    {"errors.max.retries", kNotNeeded, kRetries},
    {"retriable.restart.connector.wait.ms", kNotNeeded, kRetries},
    {"executor.shutdown.timeout.ms", kNotNeeded, "delivery.shutdown_timeout"},
    {"event.processing.failure.handling.mode", kOpen,
     "walpost stops before an event that it cannot send; on_error has another "
     "choice for each class of error",
     "fail"},
    {"custom.metric.tags", kNotNeeded, kMonitoring},
    {"advanced.metrics.enable", kNotNeeded, kMonitoring},
    {"guardrail.*", kNotNeeded, "only tables of the list are read"},
    {"openlineage.integration.enabled", kOpen,
     "walpost does not report to OpenLineage", "false"},
    {"openlineage.*", kNotNeeded, "walpost does not report to OpenLineage"},
    // Kafka Connect.
    {"transforms", kCarried, "records"},
    {"predicates", kCarried, "-"},
    {"key.converter*", kCarried, "records.key_converter"},
    {"value.converter*", kCarried, "records.value_converter"},
    {"header.converter*", kCarried, "records.header_converter"},
    {"producer.override.*", kCarried, "kafka.properties"},
    {"topic.creation.default.*", kCarried, "route.create_topics"},
    {"topic.creation.enable", kNotNeeded,
     "it is a setting of the worker, and has no effect in a connector"},
    {"topic.creation.groups", kRefused,
     "walpost creates all topics of a table alike (create_topics); create "
     "others beforehand",
     "|default"},
    {"errors.tolerance", kOpen,
     "walpost does not leave out events silently: it stops before an event "
     "that it cannot send. on_error can say skip, dead_letter or park instead",
     "none"},
    {"errors.deadletterqueue.*", kNotNeeded,
     "Connect does not use it for a source; see dead_letter and on_error"},
    {"errors.*", kNotNeeded, "walpost logs each event that it cannot send"},
    {"exactly.once.support", kCarried, "delivery.guarantee"},
    {"transaction.boundary", kNotNeeded, "delivery.transaction_boundary"},
    {"transaction.boundary.interval.ms", kNotNeeded,
     "delivery.transaction_interval"},
    {"offsets.storage.topic", kNotNeeded,
     "the slot is the position; see --offsets"},
    {"offset.*", kNotNeeded, "the slot is the position; see --offsets"},
    {"config.action.reload", kNotNeeded, "SIGHUP reads secrets again"},
    {"config.providers*", kNotNeeded, "they are of the worker"},
    {"consumer.override.*", kNotNeeded, "a source has no consumer"},
    {"admin.override.*", kNotNeeded,
     "kafka.properties holds for all connections"},
    {"key.subject.name.strategy", kNotNeeded, "no schema registry is used"},
    {"value.subject.name.strategy", kNotNeeded, "no schema registry is used"},
};

constexpr char kTracing[] =
    "it has an effect only with OpenTelemetry in the worker: walpost writes no "
    "header traceparent. Add the column to records.placements as a header, if "
    "consumers read it";

constexpr KeyRule kRouterRules[] = {
    {"type", kCarried, "records.profile"},
    {"predicate", kCarried, "-"},
    {"negate", kCarried, "-"},
    {"table.op.invalid.behavior", kCarried, "records.on_update"},
    {"table.field.event.id", kCarried, "outbox.tables[].columns.id"},
    {"table.field.event.key", kCarried, "outbox.tables[].columns.aggregate_id"},
    {"table.field.event.type", kNotNeeded, "the router never reads it"},
    {"table.field.event.timestamp", kCarried,
     "outbox.tables[].columns.timestamp"},
    {"table.field.event.payload", kCarried, "outbox.tables[].columns.payload"},
    {"table.field.event.schema.version", kCarried, "records.schema_version"},
    {"table.fields.additional.placement", kCarried, "records.placements"},
    {"table.field.additional.missing", kCarried, "records.missing_columns"},
    {"table.fields.additional.error.on.missing", kCarried,
     "records.missing_columns"},
    {"route.by.field", kCarried, "outbox.tables[].columns.aggregate_type"},
    {"route.topic.regex", kCarried, "route.topic"},
    {"route.topic.replacement", kCarried, "route.topic"},
    {"route.tombstone.on.empty.payload", kCarried,
     "records.tombstone_on_empty"},
    {"table.expand.json.payload", kCarried, "records.expand_json"},
    {"table.json.payload.null.behavior", kCarried, "records.json_nulls"},
    {"table.json.payload.empty.array.behavior", kCarried,
     "records.json_empty_arrays"},
    {"tracing.*", kOpen, kTracing},
    {"field.name.adjustment.mode", kRefused,
     "Debezium loses the members that it renames: remove it", "none"},
    {"debezium.op.invalid.behavior", kRefused,
     "it is of Debezium before 1.9: write table.op.invalid.behavior"},
    {"route.tombstone.*", kRefused, "walpost does not know it"},
};

constexpr KeyRule kProducerRules[] = {
    {"bootstrap.servers", kCarried, "kafka.brokers"},
    {"compression.type", kCarried, "kafka.properties"},
    {"linger.ms", kCarried, "kafka.properties"},
    {"batch.size", kCarried, "kafka.properties"},
    {"max.request.size", kCarried, "kafka.properties"},
    {"security.protocol", kCarried, "kafka.properties"},
    {"sasl.*", kCarried, "kafka.properties"},
    {"ssl.*", kCarried, "kafka.properties"},
    {"client.dns.lookup", kCarried, "kafka.properties"},
    {"connections.max.idle.ms", kCarried, "kafka.properties"},
    {"acks", kRefused,
     "walpost always waits for all replicas (acks=all): remove it", "all|-1"},
    {"enable.idempotence", kNotNeeded, kOwnGuarantee},
    {"max.in.flight.requests.per.connection", kNotNeeded, kOwnGuarantee},
    {"retries", kNotNeeded, kRetries},
    {"delivery.timeout.ms", kNotNeeded, kRetries},
    {"request.timeout.ms", kNotNeeded, kRetries},
    {"retry.backoff*", kNotNeeded, kRetries},
    {"reconnect.backoff*", kNotNeeded, kRetries},
    {"socket.connection.setup*", kNotNeeded, kRetries},
    {"max.block.ms", kNotNeeded, "/readyz names a topic that is missing"},
    {"buffer.memory", kNotNeeded, kBuffers},
    {"send.buffer.bytes", kNotNeeded, "the system's default"},
    {"receive.buffer.bytes", kNotNeeded, "the system's default"},
    {"client.id", kNotNeeded, "it is walpost-SLOT"},
    {"client.rack", kNotNeeded, "a producer writes to leaders"},
    {"metadata.*", kNotNeeded, "walpost looks for new metadata itself"},
    {"enable.metrics.push", kNotNeeded, kMonitoring},
    {"metric*", kNotNeeded, kMonitoring},
    {"auto.include.jmx.reporter", kNotNeeded, kMonitoring},
    {"compression.gzip.level", kOpen, "set compression.level, if need be"},
    {"compression.lz4.level", kOpen, "set compression.level, if need be"},
    {"compression.zstd.level", kOpen, "set compression.level, if need be"},
    {"key.serializer", kRefused, "walpost writes the bytes of the converter",
     "org.apache.kafka.common.serialization.StringSerializer|"
     "org.apache.kafka.common.serialization.ByteArraySerializer"},
    {"value.serializer", kRefused, "walpost writes the bytes of the converter",
     "org.apache.kafka.common.serialization.StringSerializer|"
     "org.apache.kafka.common.serialization.ByteArraySerializer"},
    {"partitioner.class", kRefused,
     "walpost has the partitioner of Kafka's client (murmur2): records would "
     "go to other partitions",
     "|org.apache.kafka.clients.producer.internals.DefaultPartitioner"},
    {"partitioner.ignore.keys", kRefused,
     "records with a key would go to other partitions", "false"},
    {"partitioner.*", kNotNeeded, "only records without a key depend on it"},
    {"interceptor.classes", kRefused, "they are Java", "|"},
    {"transactional.id", kRefused,
     "set delivery.guarantee: exactly_once, which makes its own"},
    {"transaction.timeout.ms", kNotNeeded, "delivery.transaction_timeout"},
    {"transaction.two.phase.commit.enable", kNotNeeded,
     "delivery.transaction_timeout"},
    {"security.providers", kRefused, "they are Java", "|"},
};

constexpr KeyRule kServerRules[] = {
    {"type", kCarried, "kafka"},
    {"kafka.producer.*", kCarried, "kafka.properties"},
    {"kafka.wait.message.delivery.timeout.ms", kNotNeeded, kRetries},
    {"format.*", kCarried, "records"},
    {"debezium.engine.*", kNotNeeded, "walpost has no engine"},
    {"quarkus.*", kNotNeeded, "see http and log for walpost's own"},
    {"debezium.api.*", kNotNeeded, "see http for walpost's own"},
};

}  // namespace

std::span<const KeyRule> ConnectorRules() { return kConnectorRules; }
std::span<const KeyRule> RouterRules() { return kRouterRules; }
std::span<const KeyRule> ProducerRules() { return kProducerRules; }
std::span<const KeyRule> ServerRules() { return kServerRules; }

const KeyRule* FindRule(std::span<const KeyRule> rules, std::string_view name) {
  for (const KeyRule& rule : rules) {
    const bool is_prefix = rule.name.ends_with('*');
    if (is_prefix ? name.starts_with(rule.name.substr(0, rule.name.size() - 1))
                  : name == rule.name) {
      return &rule;
    }
  }
  return nullptr;
}

void ReportLeft(std::span<const KeyRule> rules, std::string_view owner,
                const std::vector<Setting*>& settings, size_t strip,
                ImportReport& report) {
  for (Setting* setting : settings) {
    if (setting->is_taken) continue;
    setting->is_taken = true;
    const std::string_view name = std::string_view(setting->name).substr(strip);
    const KeyRule* rule = FindRule(rules, name);
    if (rule == nullptr || rule->treatment == kCarried) {
      std::vector<std::string> known;
      for (const KeyRule& one : rules) known.emplace_back(one.name);
      const std::string meant = NearestWord(name, known);
      report.Refuse(
          setting->key,
          fmt::format(
              "this is not a setting of {} that walpost knows{}: remove "
              "it, if it has no effect on records",
              owner,
              meant.empty() || meant == name
                  ? ""
                  : fmt::format(" (did you mean {}?)", meant)));
      continue;
    }
    const std::vector<std::string> harmless = absl::StrSplit(
        absl::string_view(rule->harmless.data(), rule->harmless.size()), '|');
    const std::string value(absl::StripAsciiWhitespace(setting->value));
    const bool changes_nothing =
        rule->harmless.data() != nullptr &&
        std::ranges::any_of(harmless, [&](const std::string& one) {
          return absl::AsciiStrToLower(one) == absl::AsciiStrToLower(value);
        });
    if (changes_nothing) {
      report.NotNeeded(setting->key, "walpost does so in any case");
    } else if (rule->treatment == kNotNeeded) {
      report.NotNeeded(setting->key, std::string(rule->text));
    } else if (rule->treatment == kOpen) {
      report.Open(setting->key, std::string(rule->text));
    } else {
      report.Refuse(setting->key, std::string(rule->text));
    }
  }
}

}  // namespace walpost
