#include "config/outbox_section.h"

#include <algorithm>

#include "base/fitted_name.h"
#include "config/polling_section.h"
#include "config/yaml_document.h"
#include "fmt/format.h"
#include "outbox/dead_letter_topic.h"
#include "outbox/fields.h"
#include "outbox/table_pattern.h"
#include "outbox/topic_template.h"

namespace walpost {
namespace {

using KeyKind = KeyDescription::Kind;

YAML::Node Described(const FieldSource& source) {
  switch (source.kind) {
    case FieldSource::Kind::kUsual:
      break;
    case FieldSource::Kind::kColumn:
      return Quoted(source.text);
    case FieldSource::Kind::kConstant: {
      YAML::Node constant;
      constant["constant"] = Quoted(source.text);
      return constant;
    }
    case FieldSource::Kind::kAbsent:
      return YAML::Node(YAML::NodeType::Null);
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

// A column name, {constant: text}, or null.
void ReadField(Section& columns, const std::string& name, FieldSource& source) {
  if (columns.Describe(name, KeyKind::kField, Described(source))) return;
  const YAML::Node node = columns.Get(name);
  if (!node.IsDefined()) return;
  if (node.IsNull()) {
    source.kind = FieldSource::Kind::kAbsent;
  } else if (node.IsMap()) {
    Section constant = columns.Child(name);
    source.kind = FieldSource::Kind::kConstant;
    if (!constant.Has("constant")) {
      constant.Fail("", "a column, {constant: text} or null is expected here");
    }
    constant.Read("constant", source.text);
    constant.Done();
  } else {
    source.kind = FieldSource::Kind::kColumn;
    source.text = columns.Scalar(name, node);
    if (source.text.empty()) columns.Fail(name, "the column has no name");
  }
}

void ReadFields(Section& section, FieldSources& fields) {
  section.Describe("columns", KeyKind::kSection,
                   YAML::Node(YAML::NodeType::Map));
  Section columns = section.Child("columns");
  for (const FieldDescription& field : kFields) {
    ReadField(columns, std::string(field.name), fields.*field.source);
  }
  ReadField(columns, "timestamp", fields.timestamp);
  columns.Done();
}

void CheckTemplate(Section& section, const std::string& topic, NameRule names) {
  if (topic.empty()) return;
  const auto parsed = TopicTemplate::Parse(topic, names);
  if (!parsed.ok()) {
    section.Fail("topic", std::string(parsed.status().message()));
  }
}

// A number that the brokers have a default for.
void ReadBrokersNumber(Section& create, const std::string& key, size_t most,
                       int& number) {
  size_t value = number > 0 ? static_cast<size_t>(number) : 0;
  create.ReadCount(key, value, 1, most);
  if (value > 0) number = static_cast<int>(value);
}

void ReadCreation(Section& section, std::optional<TopicCreation>& creation) {
  constexpr const char* kKey = "create_topics";
  constexpr size_t kMaxPartitions = 100'000;
  constexpr size_t kMaxReplicas = 1'000;
  const bool is_described = section.Describe(
      kKey, KeyKind::kSection,
      YAML::Node(creation ? YAML::NodeType::Map : YAML::NodeType::Undefined));
  if (!is_described && !section.Has(kKey)) return;
  Section create = section.Child(kKey);
  TopicCreation wanted = creation.value_or(TopicCreation());
  ReadBrokersNumber(create, "partitions", kMaxPartitions, wanted.partitions);
  ReadBrokersNumber(create, "replication_factor", kMaxReplicas,
                    wanted.replication_factor);
  create.ReadMap("config", wanted.config);
  create.Done();
  creation = std::move(wanted);
}

// A column, or null: the key chooses the partition.
void ReadPartition(Section& section, std::optional<std::string>& partition) {
  YAML::Node described(YAML::NodeType::Undefined);
  if (partition && partition->empty()) described = YAML::Node();
  if (partition && !partition->empty()) described = Quoted(*partition);
  if (section.Describe("partition", KeyKind::kNullable, described)) return;
  if (!section.Has("partition")) return;
  partition.emplace();
  if (!section.Get("partition").IsNull()) section.Read("partition", *partition);
}

// Otherwise the JSON object would have a member twice.
void CheckDistinct(Section& section, const std::string& key,
                   std::vector<std::string> names) {
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return;
  section.Fail(key, fmt::format("column {} is listed twice", *twice));
}

// The row must have the payload, and be found by its id.
void ReadClaimCheck(Section& section, TableOptions& table) {
  constexpr const char* kKey = "claim_check_above";
  constexpr size_t kLargestRow = 1'000'000'000;
  section.ReadSize(kKey, table.claim_check_above, 0, kLargestRow);
  if (table.claim_check_above == 0) return;
  const auto is_column = [](const FieldSource& field) {
    return field.kind == FieldSource::Kind::kUsual ||
           field.kind == FieldSource::Kind::kColumn;
  };
  if (!table.value_columns.empty() || !is_column(table.columns.payload)) {
    section.Fail(kKey,
                 "the table has no column with the payload, which consumers "
                 "would read: remove value.columns and columns.payload, or "
                 "this key");
  } else if (!is_column(table.columns.id)) {
    section.Fail(kKey,
                 "consumers find the row by its id, and columns.id is not a "
                 "column");
  }
}

void ReadFormerNames(Section& section, TableOptions& table) {
  constexpr const char* kKey = "formerly";
  const YAML::Node described = table.formerly
                                   ? Quoted(*table.formerly)
                                   : YAML::Node(YAML::NodeType::Undefined);
  if (section.Describe(kKey, KeyKind::kList, described)) return;
  if (!section.Has(kKey) || section.Get(kKey).IsNull()) return;
  section.ReadList(kKey, table.formerly.emplace());
  for (std::string& name : *table.formerly) {
    CompleteTableName(section, kKey, name);
  }
}

void ReadTable(Section section, NameRule names, TableOptions& table) {
  section.Read("name", table.name);
  CompleteTableName(section, "name", table.name);
  ReadFormerNames(section, table);
  ReadFields(section, table.columns);
  section.Read("topic", table.topic);
  CheckTemplate(section, table.topic, names);
  ReadCreation(section, table.create_topics);
  ReadPartition(section, table.partition);
  section.Read("order_by", table.order_by);
  Section value = section.Child("value");
  value.ReadList("columns", table.value_columns);
  value.Done();
  CheckDistinct(value, "columns", table.value_columns);
  ReadClaimCheck(section, table);
  ReadRowState(section.Child("state"), table.state);
  section.Done();
}

void ReadMessages(Section section, NameRule names, MessageOptions& messages) {
  using Format = MessageOptions::Format;
  section.Read("prefix", messages.prefix);
  section.ReadChoice<Format>(
      "format", messages.format,
      {{"json", Format::kJson}, {"payload", Format::kPayload}});
  ReadFields(section, messages.columns);
  section.Read("topic", messages.topic);
  CheckTemplate(section, messages.topic, names);
  ReadCreation(section, messages.create_topics);
  ReadPartition(section, messages.partition);
  section.Done();
  if (messages.format != Format::kPayload) return;
  Section columns = section.Child("columns");
  for (const FieldDescription& field : kFields) {
    if ((messages.columns.*field.source).kind == FieldSource::Kind::kColumn) {
      columns.Fail(std::string(field.name),
                   "with format: payload the content has no members; use "
                   "{constant: text} or null");
    }
  }
}

// Rejects a second header with one of our names: consumers would read the first
// or the last one.
void CheckHeaderNames(Section& section, const OutboxOptions& outbox) {
  const auto has_id = [](const FieldSources& columns) {
    return columns.id.kind != FieldSource::Kind::kAbsent;
  };
  bool id_is_ours =
      outbox.messages.enabled() && has_id(outbox.messages.columns);
  for (const TableOptions& table : EntriesOf(outbox)) {
    id_is_ours |= has_id(table.columns);
  }
  for (const auto& [name, column] : outbox.route.headers) {
    if (name.starts_with(kReservedPrefix)) {
      section.Fail("headers", fmt::format("{}: names that begin with {} are "
                                          "reserved: choose another",
                                          name, kReservedPrefix));
    } else if (name == kIdHeader && id_is_ours) {
      section.Fail("headers",
                   fmt::format("id: walpost writes this header from the field "
                               "id: remove it here, and set "
                               "outbox.tables.columns.id: {} (or null, where "
                               "there is no id)",
                               column));
    }
  }
}

// These keys would be ignored.
void RejectTopicKeys(Section& section) {
  for (const char* key : {"topic", "create_topics"}) {
    if (!section.Has(key)) continue;
    section.Fail(key,
                 "is for store: kafka, and with store: postgres dead letters "
                 "are rows of parking.table: remove it");
  }
}

void CheckDeadLetterTopic(Section& section, const OutboxOptions& outbox) {
  const std::string& topic = outbox.dead_letter.topic;
  const absl::Status parsed =
      ParseDeadLetterTopic(topic, outbox.route.names).status();
  if (!parsed.ok()) section.Fail("topic", std::string(parsed.message()));
  std::vector<std::string> routes{outbox.route.topic, outbox.messages.topic};
  for (const TableOptions& table : EntriesOf(outbox)) {
    routes.push_back(table.topic);
  }
  if (std::ranges::find(routes, topic) != routes.end()) {
    section.Fail("topic", fmt::format("'{}' is the topic of events: dead "
                                      "letters need one of their own",
                                      topic));
  }
}

// A message that is nothing but a payload has no members.
void CheckPartitionOfMessages(Section& section, const OutboxOptions& outbox) {
  const MessageOptions& messages = outbox.messages;
  const std::string& member =
      messages.partition ? *messages.partition : outbox.route.partition;
  const bool is_field = FindField(member) < kFields.size();
  if (!messages.enabled() || member.empty() || is_field ||
      messages.format != MessageOptions::Format::kPayload) {
    return;
  }
  section.Fail("partition",
               fmt::format("messages with outbox.messages.format: payload have "
                           "no member '{}': set outbox.messages.partition: "
                           "null, and their key chooses it",
                           member));
}

}  // namespace

// Adds "public." to a table without a schema; an error if it has no name.
void CompleteTableName(Section& section, const std::string& key,
                       std::string& name) {
  if (name.find('.') == std::string::npos) name = "public." + name;
  if (name.starts_with('.') || name.ends_with('.')) {
    section.Fail(key, "a table has a name, with or without its schema");
  }
  const size_t dot = name.find('.');
  const size_t longest = std::max(dot, name.size() - dot - 1);
  if (longest > kMaxNameBytes) {
    section.Fail(key, fmt::format("a name in '{}' has {} bytes, and Postgres "
                                  "keeps {} of a name",
                                  name, longest, kMaxNameBytes));
  }
}

namespace {

// A table that is renamed has a name of its own.
void CheckPattern(Section& section, const TableOptions& entry) {
  if (!entry.formerly) return;
  section.Fail("formerly",
               fmt::format("{} stands for several tables: list the "
                           "renamed table also by its own name, with "
                           "formerly there",
                           entry.name));
}

void CheckListedOnce(Section& section, const OutboxOptions& outbox,
                     const TableOptions& added) {
  for (const TableOptions& other : EntriesOf(outbox)) {
    if (other.place == added.place) continue;
    if (other.name == added.name) {
      section.Fail("name", fmt::format("table {} is listed twice", added.name));
    } else if (other.recorded_name() == added.recorded_name()) {
      section.Fail("formerly",
                   fmt::format("tables {} and {} would have the same events on "
                               "record: give formerly: [] to the one that was "
                               "renamed",
                               other.name, added.name));
    }
  }
}

// As they are configured; a pattern has names of its own.
void DescribeOutbox(Section& section, OutboxOptions& outbox) {
  size_t i = 0;
  section.Describe("tables", KeyKind::kSection,
                   YAML::Node(YAML::NodeType::Sequence));
  for (TableOptions table : EntriesOf(outbox)) {
    table.name = NameInConfiguration(outbox, table);
    ReadTable(section.Entry("tables", i++), outbox.route.names, table);
  }
  ReadMessages(section.Child("messages"), outbox.route.names, outbox.messages);
}

}  // namespace

void ReadOutbox(Section section, OutboxOptions& outbox) {
  if (section.is_described()) return DescribeOutbox(section, outbox);
  const bool has_list = section.Get("tables").IsSequence();
  size_t place = 0;
  for (Section& table : section.Children("tables")) {
    TableOptions added;
    ReadTable(table, outbox.route.names, added);
    added.place = place++;
    const bool is_pattern = IsPattern(added.name);
    if (is_pattern) {
      CheckPattern(table, added);
    } else {
      added.name = WithoutEscapes(added.name);
    }
    CheckListedOnce(table, outbox, added);
    auto& entries = is_pattern ? outbox.patterns : outbox.tables;
    entries.push_back(std::move(added));
  }
  ReadMessages(section.Child("messages"), outbox.route.names, outbox.messages);
  if (EntriesOf(outbox).empty() && !outbox.messages.enabled()) {
    if (has_list) {
      section.Fail("tables",
                   "it is empty, and there is no outbox.messages.prefix: name "
                   "a table, or leave it out for public.outbox");
    }
    outbox.tables.emplace_back();
  }
  section.Done();
}

void ReadRoute(Section section, OutboxOptions& outbox) {
  RouteOptions& route = outbox.route;
  section.Read("topic", route.topic);
  if (route.topic.empty()) section.Fail("topic", "it is empty");
  CheckTemplate(section, route.topic, route.names);
  ReadCreation(section, route.create_topics);
  section.Read("partition", route.partition);
  section.ReadMap("headers", route.headers);
  section.Read("position_header", route.position_header);
  section.Done();
  CheckHeaderNames(section, outbox);
  CheckPartitionOfMessages(section, outbox);
}

void ReadDeadLetter(Section section, SinkKind sink, OutboxOptions& outbox) {
  using Store = DeadLetterOptions::Store;
  std::vector<std::pair<std::string_view, Store>> stores = {
      {"kafka", Store::kKafka},
      {"postgres", Store::kPostgres},
      {"broker", Store::kKafka}};
  // The configuration is printed with the first of two names.
  if (sink != SinkKind::kKafka) std::ranges::reverse(stores);
  section.ReadChoice<Store>("store", outbox.dead_letter.store, stores);
  const bool is_topic = outbox.dead_letter.store == Store::kKafka;
  if (!is_topic) RejectTopicKeys(section);
  section.Read("topic", outbox.dead_letter.topic);
  ReadCreation(section, outbox.dead_letter.create_topics);
  section.ReadChoice("payload", outbox.dead_letter.payload,
                     DeadLetterOptions::kPayloads);
  section.Done();
  if (is_topic) CheckDeadLetterTopic(section, outbox);
}

}  // namespace walpost
