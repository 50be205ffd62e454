#include "config/printer.h"

#include "config/conninfo.h"
#include "config/secrets.h"
#include "config/sink_section.h"
#include "config/units.h"
#include "config/yaml_document.h"
#include "outbox/fields.h"
#include "outbox/table_pattern.h"

namespace walpost {
namespace {

template <typename Enum, size_t n>
std::string Name(const Choices<Enum, n>& choices, Enum value) {
  return std::string(NameIn(choices, value));
}

void PrintField(const std::string& name, const FieldSource& source,
                YAML::Node& columns) {
  switch (source.kind) {
    case FieldSource::Kind::kUsual:
      return;
    case FieldSource::Kind::kColumn:
      columns[name] = Quoted(source.text);
      return;
    case FieldSource::Kind::kConstant:
      columns[name]["constant"] = Quoted(source.text);
      return;
    case FieldSource::Kind::kAbsent:
      columns[name] = YAML::Node(YAML::NodeType::Null);
      return;
  }
}

YAML::Node PrintFields(const FieldSources& fields) {
  YAML::Node columns(YAML::NodeType::Map);
  for (const FieldDescription& field : kFields) {
    PrintField(std::string(field.name), fields.*field.source, columns);
  }
  PrintField("timestamp", fields.timestamp, columns);
  return columns;
}

// Prints only keys that differ: a table without state prints none.
YAML::Node PrintRowState(const RowStateOptions& state) {
  YAML::Node node;
  const RowStateOptions defaults;
  const auto print = [&node](const char* key, const std::string& value,
                             const std::string& otherwise) {
    if (value != otherwise) node[key] = Quoted(value);
  };
  print("status", state.status, defaults.status);
  print("pending", state.pending, defaults.pending);
  print("processing", state.processing, defaults.processing);
  print("published", state.published, defaults.published);
  print("failed", state.failed, defaults.failed);
  print("published_at", state.published_at, defaults.published_at);
  print("locked_until", state.locked_until, defaults.locked_until);
  print("heartbeat_at", state.heartbeat_at, defaults.heartbeat_at);
  print("attempts", state.attempts, defaults.attempts);
  print("last_error", state.last_error, defaults.last_error);
  print("next_attempt_at", state.next_attempt_at, defaults.next_attempt_at);
  print("transaction_id", state.transaction_id, defaults.transaction_id);
  return node;
}

void PrintCreation(const std::optional<TopicCreation>& creation,
                   YAML::Node node) {
  if (!creation) return;
  YAML::Node printed(YAML::NodeType::Map);
  if (creation->partitions > 0) printed["partitions"] = creation->partitions;
  if (creation->replication_factor > 0) {
    printed["replication_factor"] = creation->replication_factor;
  }
  for (const auto& [name, value] : creation->config) {
    printed["config"][name] = Quoted(value);
  }
  node["create_topics"] = printed;
}

void PrintPartition(const std::optional<std::string>& partition,
                    YAML::Node node) {
  if (!partition) return;
  node["partition"] = partition->empty() ? YAML::Node(YAML::NodeType::Null)
                                         : Quoted(*partition);
}

YAML::Node PrintOutbox(const OutboxOptions& outbox) {
  YAML::Node node;
  node["tables"] = YAML::Node(YAML::NodeType::Sequence);
  for (const TableOptions& table : EntriesOf(outbox)) {
    YAML::Node entry;
    entry["name"] = Quoted(NameInConfiguration(outbox, table));
    if (table.formerly) {
      entry["formerly"] = YAML::Node(YAML::NodeType::Sequence);
      for (const std::string& name : *table.formerly) {
        entry["formerly"].push_back(Quoted(name));
      }
    }
    entry["columns"] = PrintFields(table.columns);
    if (!table.topic.empty()) entry["topic"] = Quoted(table.topic);
    PrintCreation(table.create_topics, entry);
    PrintPartition(table.partition, entry);
    if (!table.order_by.empty()) entry["order_by"] = Quoted(table.order_by);
    for (const std::string& column : table.value_columns) {
      entry["value"]["columns"].push_back(Quoted(column));
    }
    if (table.claim_check_above > 0) {
      entry["claim_check_above"] = FormatSize(table.claim_check_above);
    }
    const YAML::Node state = PrintRowState(table.state);
    if (state.size() > 0) entry["state"] = state;
    node["tables"].push_back(entry);
  }
  const MessageOptions& messages = outbox.messages;
  if (!messages.enabled()) return node;
  node["messages"]["prefix"] = Quoted(messages.prefix);
  node["messages"]["format"] =
      messages.format == MessageOptions::Format::kJson ? "json" : "payload";
  node["messages"]["columns"] = PrintFields(messages.columns);
  if (!messages.topic.empty()) {
    node["messages"]["topic"] = Quoted(messages.topic);
  }
  PrintCreation(messages.create_topics, node["messages"]);
  PrintPartition(messages.partition, node["messages"]);
  return node;
}

YAML::Node PrintPostgres(const WalSourceOptions& postgres,
                         OriginFilter origin) {
  YAML::Node node;
  node["conninfo"] =
      Quoted(HideConninfoSecrets(postgres.server.conninfo.Read().value_or("")));
  node["password_command"] = YAML::Node(YAML::NodeType::Sequence);
  // The arguments may be secrets, too.
  const std::vector<std::string>& command = postgres.server.password_command;
  for (size_t i = 0; i < command.size(); ++i) {
    node["password_command"].push_back(
        Quoted(i == 0 ? command[i] : std::string(kHidden)));
  }
  node["slot"] = postgres.slot;
  node["publication"] = Quoted(postgres.publication);
  node["create"] = postgres.create;
  node["failover"] = postgres.failover;
  node["wal_sender_timeout"] = FormatDuration(postgres.wal_sender_timeout);
  node["status_interval"] = FormatDuration(postgres.status_interval);
  node["wal_budget"] = FormatSize(postgres.wal_budget_bytes);
  node["origin"] = origin == OriginFilter::kAny ? "any" : "none";
  return node;
}

YAML::Node PrintPolling(const PollingOptions& polling) {
  YAML::Node node;
  node["strategy"] = Name(PollingOptions::kStrategies, polling.strategy);
  node["interval"] = FormatDuration(polling.interval);
  node["batch_size"] = polling.batch_size;
  node["notify"] = Quoted(polling.notify);
  node["lease"] = FormatDuration(polling.lease);
  node["transaction_timeout"] = FormatDuration(polling.transaction_timeout);
  node["max_attempts"] = polling.max_attempts;
  node["retry_backoff"] = FormatDuration(polling.retry_backoff);
  node["retry_backoff_max"] = FormatDuration(polling.retry_backoff_max);
  node["cursor_table"] = Quoted(polling.cursor_table);
  return node;
}

YAML::Node PrintRoute(const RouteOptions& route) {
  YAML::Node node;
  node["topic"] = Quoted(route.topic);
  PrintCreation(route.create_topics, node);
  if (!route.partition.empty()) node["partition"] = Quoted(route.partition);
  node["headers"] = YAML::Node(YAML::NodeType::Map);
  for (const auto& [header, column] : route.headers) {
    node["headers"][header] = Quoted(column);
  }
  node["position_header"] = route.position_header;
  return node;
}

YAML::Node PrintCheckpoint(const CheckpointOptions& checkpoint) {
  YAML::Node node;
  node["store"] = Name(CheckpointOptions::kStores, checkpoint.store);
  node["path"] = Quoted(checkpoint.path);
  node["topic"] = Quoted(checkpoint.topic);
  node["table"] = Quoted(checkpoint.table);
  node["interval"] = FormatDuration(checkpoint.interval);
  return node;
}

YAML::Node PrintRetention(const RetentionOptions& retention) {
  YAML::Node node;
  node["keep"] = FormatDuration(retention.keep);
  node["interval"] = FormatDuration(retention.interval);
  node["batch_rows"] = retention.batch_rows;
  node["pause"] = FormatDuration(retention.pause);
  node["partitions_ahead"] = retention.partitions_ahead;
  return node;
}

YAML::Node PrintParking(const ParkingOptions& parking) {
  YAML::Node node;
  node["table"] = Quoted(parking.table);
  node["max_keys"] = parking.max_keys;
  node["isolate_after"] = FormatDuration(parking.isolate_after);
  node["max_isolated_bytes"] = FormatSize(parking.max_isolated_bytes);
  node["max_isolated_time"] = FormatDuration(parking.max_isolated_time);
  return node;
}

YAML::Node PrintDelivery(const Config& config) {
  const TransactionOptions& transactions = config.transactions;
  const bool is_whole =
      transactions.boundary == TransactionOptions::Boundary::kSource;
  const bool stops =
      transactions.oversize == TransactionOptions::Oversize::kStop;
  YAML::Node node;
  if (config.window.records_per_partition > 0) {
    node["max_in_flight_records"] = "auto";
  } else {
    node["max_in_flight_records"] = config.window.max_records;
  }
  node["max_in_flight_bytes"] = FormatSize(config.window.max_bytes);
  node["shutdown_timeout"] = FormatDuration(config.shutdown_timeout);
  node["guarantee"] = transactions.is_on ? "exactly_once" : "at_least_once";
  node["transaction_interval"] = FormatDuration(transactions.interval);
  node["transaction_idle"] = FormatDuration(transactions.idle);
  node["transaction_timeout"] = FormatDuration(transactions.timeout);
  node["transaction_boundary"] = is_whole ? "source" : "event";
  node["max_transaction_records"] = transactions.max_records;
  node["max_transaction_bytes"] = FormatSize(transactions.max_bytes);
  node["on_large_transaction"] = stops ? "stop" : "split";
  return node;
}

}  // namespace

std::string PrintConfig(const Config& config) {
  YAML::Node root;
  root["source"] = config.source == Source::kWal ? "wal" : "polling";
  root["postgres"] = PrintPostgres(config.postgres, config.outbox.origin);
  root["polling"] = PrintPolling(config.polling);
  root["outbox"] = PrintOutbox(config.outbox);
  root["route"] = PrintRoute(config.outbox.route);
  root["value"]["format"] =
      config.outbox.value_format == ValueFormat::kRaw ? "raw" : "protobuf";
  PrintSink(config, root);
  root["delivery"] = PrintDelivery(config);
  for (size_t i = 0; i < kErrorClasses.size(); ++i) {
    root["on_error"][std::string(kErrorClasses[i].code)] =
        std::string(ToString(config.on_error.Get(i)));
  }
  root["parking"] = PrintParking(config.parking);
  root["dead_letter"]["store"] = config.keeps_letters() ? "postgres" : "kafka";
  if (!config.keeps_letters()) {
    root["dead_letter"]["topic"] = Quoted(config.outbox.dead_letter.topic);
    PrintCreation(config.outbox.dead_letter.create_topics, root["dead_letter"]);
  }
  root["dead_letter"]["payload"] =
      Name(DeadLetterOptions::kPayloads, config.outbox.dead_letter.payload);
  root["snapshot"] = config.postgres.initial_snapshot ? "initial" : "never";
  root["checkpoint"] = PrintCheckpoint(config.checkpoint);
  root["replay"]["window"] = FormatSize(config.postgres.replay.window_bytes);
  root["replay"]["window_time"] =
      FormatDuration(config.postgres.replay.window_time);
  root["retention"] = PrintRetention(config.retention);
  root["http"]["listen"] = Quoted(config.http.listen);
  root["log"]["level"] = Name(kLogLevels, config.log.level);
  root["log"]["format"] = Name(kLogFormats, config.log.format);
  return YAML::Dump(root) + "\n";
}

}  // namespace walpost
