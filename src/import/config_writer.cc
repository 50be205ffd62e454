#include "import/config_writer.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr size_t kCommentWidth = 88;

// Lines of a comment; the key stands out on the first.
std::string Comment(std::string_view text) {
  std::string lines;
  std::string line = "#";
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() > 1 && line.size() + 1 + word.size() > kCommentWidth) {
      lines += line + "\n";
      line = "#  ";
    }
    line += fmt::format(" {}", word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines + line + "\n";
}

struct NoteHeading {
  ImportNote::Kind kind;
  std::string_view text;
};
constexpr NoteHeading kNoteHeadings[] = {
    {ImportNote::Kind::kRefused, "NOT CARRIED OVER:"},
    {ImportNote::Kind::kOpen, "Not carried over, and to be decided:"},
    {ImportNote::Kind::kRemark, "To do, and what is different:"},
    {ImportNote::Kind::kNotNeeded, "Not needed:"},
};

// A number as it is; the loader refuses what is none.
std::string Number(const std::string& value) {
  const bool is_number =
      !value.empty() && std::ranges::all_of(value, [](unsigned char c) {
        return absl::ascii_isdigit(c);
      });
  return is_number ? value : YamlScalar(value);
}

std::string Notes(const ImportReport& report) {
  std::string text;
  for (const auto& [kind, heading] : kNoteHeadings) {
    if (!report.has(kind)) continue;
    text += fmt::format("#\n# {}\n", heading);
    for (const ImportNote& note : report.notes()) {
      if (note.kind != kind) continue;
      text += Comment(fmt::format("- {}: {}", note.key, note.text));
    }
  }
  return text;
}

}  // namespace

std::string YamlScalar(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  const bool begins_well =
      !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0]));
  const std::string lower = absl::AsciiStrToLower(std::string(text));
  const bool is_word = lower == "null" || lower == "yes" || lower == "no" ||
                       lower == "on" || lower == "off" || lower == "y" ||
                       lower == "n";
  if (begins_well && !is_word &&
      text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  const bool is_printable = std::ranges::all_of(
      text, [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  if (is_printable && text.find('\\') != std::string_view::npos) {
    std::string single = "'";
    for (const char c : text) single.append(c == '\'' ? 2 : 1, c);
    return single + "'";
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string WriteConfig(const ImportContext& context, const std::string& file) {
  const ImportedConfig& config = context.config;
  std::string text = Comment(fmt::format(
      "Made by import-debezium from {}. Check it with walpost check -c "
      "FILE; docs/from-debezium.md has the steps of the change.",
      file));
  text += Notes(context.report);
  const auto line = [&](int indent, std::string_view key,
                        std::string_view value) {
    text += fmt::format("{:{}}{}: {}\n", "", indent, key, YamlScalar(value));
  };
  const auto columns = [&](const ImportedConfig::Columns& its) {
    std::string list;
    for (const auto& [field, column] : its) {
      list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", field,
                          YamlScalar(column));
    }
    text += fmt::format("      columns: {{{}}}\n", list);
  };

  text += "\npostgres:\n";
  line(2, "conninfo", config.conninfo);
  line(2, "slot", config.slot);
  line(2, "publication", config.publication);
  if (config.has_failover) text += "  failover: true\n";

  text += "\noutbox:\n";
  if (config.tables.empty()) text += "  tables: []\n";
  if (!config.tables.empty()) text += "  tables:\n";
  for (const std::string& table : config.tables) {
    text += fmt::format("    - name: {}\n", YamlScalar(table));
    if (!config.columns.empty()) columns(config.columns);
  }
  if (!config.message_prefix.empty()) {
    text += "  messages:\n";
    line(4, "prefix", config.message_prefix);
    ImportedConfig::Columns members = {{"aggregate_type", "aggregatetype"},
                                       {"aggregate_id", "aggregateid"}};
    for (const auto& [field, column] : config.columns) {
      const auto found = std::ranges::find(
          members, field, &std::pair<std::string, std::string>::first);
      if (found != members.end()) {
        found->second = column;
      } else if (field != "timestamp") {
        members.emplace_back(field, column);
      }
    }
    text += "    columns:\n";
    for (const auto& [field, column] : members) line(6, field, column);
  }

  text += "\nrecords:\n  profile: debezium\n";
  for (const auto& [key, value] : config.records) {
    if (value == "true" || value == "false") {
      text += fmt::format("  {}: {}\n", key, value);
    } else {
      line(2, key, value);
    }
  }
  if (!config.placements.empty()) {
    text += "  placements:\n";
    for (const std::string& placement : config.placements) {
      text += fmt::format("    - {}\n", YamlScalar(placement));
    }
  }

  text += "\nroute:\n";
  line(2, "topic", config.topic);
  if (!config.topic_creation.empty()) {
    text += "  create_topics:\n";
    std::string settings;
    for (const auto& [name, value] : config.topic_creation) {
      if (name == "partitions") {
        text += fmt::format("    partitions: {}\n", Number(value));
      } else if (name == "replication.factor") {
        text += fmt::format("    replication_factor: {}\n", Number(value));
      } else {
        settings += fmt::format("      {}: {}\n", name, YamlScalar(value));
      }
    }
    if (!settings.empty()) text += "    config:\n" + settings;
  }

  text += "\nkafka:\n";
  line(2, "brokers", config.kafka.brokers);
  if (!config.kafka.properties.empty()) {
    text += "  properties:\n";
    for (const auto& [name, value] : config.kafka.properties) {
      line(4, name, value);
    }
  }
  if (config.is_exactly_once) {
    text += "\ndelivery:\n  guarantee: exactly_once\n";
  }
  text +=
      "\n# Status, metrics and health, in place of Connect's REST and JMX.\n"
      "http:\n  listen: 127.0.0.1:9187\n";
  text +=
      "\n# Rows that are in the table already were sent by the connector.\n"
      "snapshot: never\n";
  return text;
}

}  // namespace walpost
