#include "import/debezium_import.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "import/captured_tables.h"
#include "import/config_writer.h"
#include "import/import_context.h"
#include "import/key_rules.h"
#include "outbox/java_pattern.h"

namespace walpost {
namespace {

constexpr std::string_view kPostgresConnector =
    "io.debezium.connector.postgresql.PostgresConnector";
constexpr std::string_view kEventRouter =
    "io.debezium.transforms.outbox.EventRouter";
constexpr std::string_view kDecoder =
    "io.debezium.connector.postgresql.transforms."
    "DecodeLogicalDecodingMessageContent";

absl::StatusOr<DebeziumVersion> ParseVersion(const std::string& text) {
  DebeziumVersion version;
  if (text.empty()) return version;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.' ||
      std::from_chars(major.ptr + 1, end, version.minor).ec != std::errc()) {
    return absl::InvalidArgumentError(fmt::format(
        "--debezium-version '{}' is not a release such as 2.7 or 3.4", text));
  }
  return version;
}

absl::Status CheckConnector(Settings& settings) {
  const Setting* type = settings.Take("connector.class");
  if (type == nullptr) {
    return absl::InvalidArgumentError(
        "connector.class is missing: this is not the configuration of a "
        "connector");
  }
  if (type->value == kPostgresConnector || type->value == "PostgresConnector") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "connector.class is {}, which is not for Postgres: walpost reads {} "
      "alone",
      type->value, kPostgresConnector));
}

class Transformations {
 public:
  explicit Transformations(ImportContext& context) : context_(context) {}

  // kInvalidArgument: the router is not among them.
  absl::Status Run() {
    const std::string names = context_.Plain("transforms").value_or("");
    const std::vector<std::string> list =
        absl::StrSplit(names, ',', absl::SkipEmpty());
    for (const std::string& one : list) {
      const std::string name(absl::StripAsciiWhitespace(one));
      const std::string prefix = fmt::format("transforms.{}.", name);
      const std::string type = context_.Plain(prefix + "type").value_or("");
      if (type == kEventRouter && router_.empty()) {
        router_ = prefix;
      } else if (type == kDecoder && router_.empty() && decoder_.empty()) {
        decoder_ = prefix;
      } else {
        Unknown(name, prefix, type);
      }
    }
    if (router_.empty()) {
      return absl::InvalidArgumentError(fmt::format(
          "transforms has no {}: walpost replaces the outbox event router, not "
          "a connector that sends the changes of tables",
          kEventRouter));
    }
    return absl::OkStatus();
  }

  const std::string& router() const { return router_; }

  // topic.prefix, with which the topics of predicates begin.
  void set_logical_name(std::string name) { logical_name_ = std::move(name); }

  void Messages() {
    const auto prefixes = context_.Plain("message.prefix.include.list");
    const auto excluded = context_.Plain("message.prefix.exclude.list");
    const auto key = [&](const char* name) {
      const Setting* setting = context_.settings.Find(name);
      return setting == nullptr ? std::string(name) : setting->key;
    };
    if (decoder_.empty()) {
      for (const char* name :
           {"message.prefix.include.list", "message.prefix.exclude.list"}) {
        if (context_.settings.Find(name) == nullptr) continue;
        if (name == std::string_view("message.prefix.exclude.list") &&
            *excluded == ".*") {
          context_.report.NotNeeded(key(name), "no messages are read");
          continue;
        }
        context_.report.Refuse(
            key(name),
            fmt::format("without {} messages go to the topic "
                        "TOPIC.PREFIX.message as they are, which walpost does "
                        "not write: remove it, if there are none",
                        kDecoder));
      }
      return;
    }
    if (context_.Flag(decoder_ + "fields.null.include").value_or(false)) {
      context_.SetRecords("message_nulls", "true");
    }
    Predicate(decoder_);
    for (Setting* left : context_.settings.WithPrefix(decoder_)) {
      if (left->is_taken) continue;
      left->is_taken = true;
      context_.report.Refuse(left->key, "walpost does not know it");
    }
    const auto list = SplitPatternList(prefixes.value_or(""));
    const bool is_literal =
        list.size() == 1 && std::ranges::all_of(list.front(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                 c == '_' || c == '-' || c == ':' || c == '/';
        });
    if (excluded || !is_literal) {
      context_.report.Refuse(
          prefixes   ? key("message.prefix.include.list")
          : excluded ? key("message.prefix.exclude.list")
                     : "message.prefix.include.list",
          "outbox.messages.prefix is one text, and not a pattern: give the "
          "messages one prefix, and name it in message.prefix.include.list");
      return;
    }
    context_.config.message_prefix = list.front();
    context_.report.Remark(
        key("message.prefix.include.list"),
        "walpost sends transactional messages alone: Debezium also sends those "
        "of pg_logical_emit_message(false, ...)");
  }

  // After the tables and the prefix are known.
  void RouterPredicate() { Predicate(router_); }

 private:
  void Unknown(const std::string& name, const std::string& prefix,
               const std::string& type) {
    std::string key = prefix + "type";
    if (const Setting* its = context_.settings.Find(key)) key = its->key;
    for (Setting* its : context_.settings.WithPrefix(prefix)) {
      its->is_taken = true;
    }
    context_.report.Refuse(
        key,
        fmt::format("'{}' is the transformation {}, which walpost does not "
                    "have: it reads {} and {}, in this order",
                    name, type.empty() ? "without a type" : type, kDecoder,
                    kEventRouter));
  }

  // A predicate must hold for each event of the outbox.
  void Predicate(const std::string& transformation) {
    const auto name = context_.Plain(transformation + "predicate");
    const bool is_negated =
        context_.Flag(transformation + "negate").value_or(false);
    if (!name) return;
    const std::string key =
        context_.settings.Find(transformation + "predicate")->key;
    const std::string prefix = fmt::format("predicates.{}.", *name);
    const std::string type = context_.Plain(prefix + "type").value_or("");
    const auto pattern = context_.Plain(prefix + "pattern");
    const bool is_decoder = transformation == decoder_;
    if (type.ends_with(".RecordIsTombstone") && is_negated) {
      return context_.report.NotNeeded(key, "the router drops tombstones");
    }
    if (!type.ends_with(".TopicNameMatches") || !pattern) {
      return context_.report.Refuse(
          key,
          "whether it holds for an event of the outbox is not known: "
          "remove it, if it always does");
    }
    std::vector<std::string> topics;
    if (is_decoder) {
      topics.push_back(logical_name_ + ".message");
    } else {
      for (const std::string& table : context_.config.tables) {
        topics.push_back(logical_name_ + "." + table);
      }
    }
    for (const std::string& topic : topics) {
      const auto its = JavaPattern::Create(*pattern, "");
      if (!its.ok()) {
        return context_.report.Refuse(key, std::string(its.status().message()));
      }
      if (its->Matches(topic) == is_negated) {
        return context_.report.Refuse(
            key, fmt::format("it does not hold for {}: records would go there "
                             "as they are",
                             topic));
      }
    }
    context_.report.NotNeeded(key, "it holds for each event of the outbox");
  }

  ImportContext& context_;
  std::string router_;
  std::string decoder_;
  std::string logical_name_;
};

void ImportRecords(ImportContext& context) {
  const auto mode = [&](const char* name, const char* key, const char* usual,
                        std::initializer_list<std::string_view> values) {
    std::vector<std::pair<std::string_view, std::string_view>> same;
    for (const std::string_view value : values) same.emplace_back(value, value);
    const auto chosen = context.Choice(name, same);
    if (chosen && *chosen != usual) context.SetRecords(key, *chosen);
  };
  mode("binary.handling.mode", "binary", "bytes",
       {"bytes", "base64", "base64-url-safe", "hex"});
  mode("decimal.handling.mode", "decimal", "precise",
       {"precise", "string", "double"});
  mode("time.precision.mode", "time_precision", "adaptive",
       {"adaptive", "adaptive_time_microseconds", "microseconds", "nanoseconds",
        "connect", "isostring"});
  mode("interval.handling.mode", "interval", "numeric", {"numeric", "string"});
  mode("hstore.handling.mode", "hstore", "json", {"json", "map"});
  if (context.Flag("include.unknown.datatypes").value_or(false)) {
    context.SetRecords("unknown_types", "true");
  }
  const bool has_headers =
      context.Flag("extended.headers.enabled").value_or(true);
  if (!has_headers || context.version < DebeziumVersion{3, 2}) {
    context.SetRecords("context_headers", "none");
  } else if (context.version < DebeziumVersion{3, 4}) {
    context.SetRecords("context_headers", "3.2");
  }
}

std::string ImportLogicalName(ImportContext& context) {
  const Setting* name = context.settings.Take("topic.prefix");
  const Setting* former = context.settings.Take("database.server.name");
  if (name != nullptr && former != nullptr) {
    context.report.NotNeeded(former->key,
                             "Debezium 2 and newer read topic.prefix instead");
  }
  if (name == nullptr) name = former;
  if (name == nullptr) {
    context.report.Refuse("topic.prefix",
                          "it is missing, and Debezium requires it");
    return {};
  }
  return context.references.Translate(*name);
}

void ImportTopicCreation(ImportContext& context) {
  const std::string prefix = "topic.creation.default.";
  for (Setting* setting : context.settings.WithPrefix(prefix)) {
    const auto value = context.Plain(setting->name);
    if (!value) continue;
    if (context.is_server) {
      context.report.NotNeeded(setting->key,
                               "Debezium Server leaves topics to the brokers");
      continue;
    }
    const std::string name = setting->name.substr(prefix.size());
    if (name == "include" || name == "exclude") {
      context.report.Refuse(setting->key,
                            "walpost creates all topics alike: remove it");
    } else if (*value != "-1") {
      context.config.topic_creation.emplace(name, *value);
    }
  }
}

void ImportClients(ImportContext& context) {
  ClientProperties& client = context.config.kafka;
  if (context.is_server) {
    const auto type = context.Plain(context.sink, "type");
    if (!type || *type != "kafka") {
      context.report.Refuse("debezium.sink.type",
                            fmt::format("it is {}: walpost writes to Kafka "
                                        "alone",
                                        type ? *type : "missing"));
    }
    AddClientProperties(context.sink, "kafka.producer.", context.references,
                        context.report, client);
    return;
  }
  AddClientProperties(context.settings, "producer.override.",
                      context.references, context.report, client);
  AddClientProperties(context.worker, "producer.", context.references,
                      context.report, client);
  const Setting* brokers = context.worker.Take("bootstrap.servers");
  if (client.brokers.empty() && brokers != nullptr) {
    client.brokers = context.references.Translate(*brokers);
  }
}

// Settings that are about names of schemas alone, which only a value with its
// schema has.
void ReportSchemaNames(ImportContext& context) {
  const auto& records = context.config.records;
  const auto converter = std::ranges::find(
      records, "value_converter", &std::pair<std::string, std::string>::first);
  if (converter == records.end() ||
      converter->second.ends_with("json_schemas")) {
    return;
  }
  for (const char* name : {"schema.name.adjustment.mode", "topic.delimiter",
                           "topic.naming.strategy"}) {
    if (const Setting* setting = context.settings.Take(name)) {
      context.report.NotNeeded(setting->key,
                               "values are written without their schemas");
    }
  }
}

// Settings of the worker that the connector overrides, or that are about the
// worker itself.
void ReportWorker(ImportContext& context) {
  const auto creates = context.Flag(context.worker, "topic.creation.enable");
  if (creates && !*creates && !context.config.topic_creation.empty()) {
    context.config.topic_creation.clear();
    context.report.NotNeeded("topic.creation.default",
                             "the worker has topic.creation.enable=false");
  }
  for (Setting* setting : context.worker.Left()) {
    setting->is_taken = true;
    const bool is_converter = setting->name.starts_with("key.converter") ||
                              setting->name.starts_with("value.converter") ||
                              setting->name.starts_with("header.converter");
    context.report.NotNeeded(
        setting->key, is_converter
                          ? "the connector has its own converter"
                          : "it is about the worker, and not about records");
  }
}

}  // namespace

absl::StatusOr<ImportResult> ImportConnector(ConnectorFile file,
                                             Settings worker,
                                             const ImportOptions& options) {
  ImportContext context(std::move(file), std::move(worker), options.has_worker);
  WALPOST_ASSIGN_OR_RETURN(context.version, ParseVersion(options.version));
  WALPOST_RETURN_IF_ERROR(CheckConnector(context.settings));
  Transformations transformations(context);
  WALPOST_RETURN_IF_ERROR(transformations.Run());

  const std::string logical_name = ImportLogicalName(context);
  transformations.set_logical_name(logical_name);
  context.SetRecords("logical_name", logical_name);
  if (context.is_server) context.SetRecords("runtime", "server");
  ImportRecords(context);
  ImportConverters(context);
  ImportDatabase(context);
  transformations.Messages();
  ImportRouter(context, transformations.router());
  ImportTables(context, options.tables);
  transformations.RouterPredicate();
  ImportTopicCreation(context);
  ImportClients(context);

  ImportedConfig& config = context.config;
  if (!options.brokers.empty()) config.kafka.brokers = options.brokers;
  if (config.kafka.brokers.empty()) {
    config.kafka.brokers = "${env:KAFKA_BROKERS}";
    context.report.Remark("bootstrap.servers",
                          "a connector does not have it: set the environment "
                          "variable KAFKA_BROKERS, or give --brokers or "
                          "--worker");
  }
  ReportSchemaNames(context);
  ReportWorker(context);
  // What the predicates have besides.
  context.settings.Take("predicates");
  for (Setting* setting : context.settings.WithPrefix("predicates.")) {
    setting->is_taken = true;
  }
  ReportLeft(ConnectorRules(), "the connector", context.settings.Left(), 0,
             context.report);
  ReportLeft(ServerRules(), "Debezium Server", context.sink.Left(), 0,
             context.report);
  ImportResult result;
  result.yaml = WriteConfig(context, options.file);
  result.report = std::move(context.report);
  return result;
}

}  // namespace walpost
