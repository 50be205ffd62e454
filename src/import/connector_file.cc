#include "import/connector_file.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "import/java_properties.h"
#include "yaml-cpp/yaml.h"

namespace walpost {
namespace {

constexpr std::string_view kServerSource = "debezium.source.";
constexpr std::string_view kServerSink = "debezium.sink.";
constexpr std::string_view kServerFormat = "debezium.format.";
constexpr std::string_view kServer = "debezium.";

size_t FirstCharacter(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\xEF\xBB\xBF");
}

std::string ScalarOf(const rapidjson::Value& value) {
  if (value.IsString()) return {value.GetString(), value.GetStringLength()};
  if (value.IsBool()) return value.GetBool() ? "true" : "false";
  if (value.IsInt64()) return std::to_string(value.GetInt64());
  if (value.IsDouble()) return fmt::format("{}", value.GetDouble());
  return {};
}

absl::StatusOr<ConnectorFile> ReadJson(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    const size_t offset = document.GetErrorOffset();
    const auto line = 1 + std::ranges::count(text.substr(0, offset), '\n');
    return absl::InvalidArgumentError(
        fmt::format("it begins like JSON, but is not: line {}: {}", line,
                    rapidjson::GetParseError_En(document.GetParseError())));
  }
  const rapidjson::Value* map = &document;
  if (document.IsObject() && document.HasMember("config")) {
    map = &document["config"];
  }
  if (!map->IsObject()) {
    return absl::InvalidArgumentError(
        "it is not an object with the settings of a connector, nor has it one "
        "in \"config\"");
  }
  ConnectorFile file;
  for (const auto& member : map->GetObject()) {
    const std::string key = ScalarOf(member.name);
    const auto& value = member.value;
    if (value.IsObject() || value.IsArray()) {
      return absl::InvalidArgumentError(fmt::format(
          "the value of \"{}\" is not a text, a number or a boolean: give one "
          "connector, as GET /connectors/NAME shows it",
          ValidUtf8(key, 100)));
    }
    if (!value.IsNull()) file.settings.Add(key, key, ScalarOf(value));
  }
  return file;
}

// yaml-cpp's own LoadAll never returns from some malformed texts.
std::vector<std::string> YamlDocuments(std::string_view text) {
  std::vector<std::string> documents(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    if (line.starts_with("---")) {
      documents.emplace_back();
    } else {
      documents.back() += line;
    }
    text.remove_prefix(end);
  }
  return documents;
}

// The connectors of a manifest; a list and a template of OpenShift have several
// manifests.
void FindConnectors(const YAML::Node& manifest,
                    std::vector<YAML::Node>& connectors) {
  if (!manifest.IsMap()) return;
  const YAML::Node kind = manifest["kind"];
  if (kind && kind.as<std::string>() == "KafkaConnector") {
    connectors.push_back(manifest);
  }
  for (const char* members : {"items", "objects"}) {
    const YAML::Node list = manifest[members];
    if (!list || !list.IsSequence()) continue;
    for (const YAML::Node& member : list) FindConnectors(member, connectors);
  }
}

absl::StatusOr<ConnectorFile> ReadYaml(std::string_view text) {
  ConnectorFile file;
  try {
    std::vector<YAML::Node> connectors;
    for (const std::string& one : YamlDocuments(text)) {
      FindConnectors(YAML::Load(one), connectors);
    }
    if (connectors.size() > 1) {
      return absl::InvalidArgumentError(
          "it has more than one KafkaConnector: give one of them");
    }
    for (const YAML::Node& connector : connectors) {
      const YAML::Node spec = connector["spec"];
      if (!spec || !spec.IsMap()) continue;
      if (spec["class"]) {
        file.settings.Add("connector.class", "spec.class",
                          spec["class"].as<std::string>());
      }
      if (spec["tasksMax"]) {
        file.settings.Add("tasks.max", "spec.tasksMax",
                          spec["tasksMax"].as<std::string>());
      }
      for (const auto& entry : spec["config"]) {
        const std::string key = entry.first.as<std::string>();
        file.settings.Add(key, key, entry.second.as<std::string>());
      }
    }
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        fmt::format("it cannot be read as YAML: {}", error.what()));
  }
  if (file.settings.empty()) {
    return absl::InvalidArgumentError(
        "it has no KafkaConnector with a spec.config");
  }
  return file;
}

ConnectorFile ReadServer(
    const std::vector<std::pair<std::string, std::string>>& properties) {
  ConnectorFile file;
  file.is_server = true;
  for (const auto& [key, value] : properties) {
    const std::string_view its = key;
    const auto without = [&](std::string_view prefix) {
      return std::string(its.substr(prefix.size()));
    };
    if (its.starts_with(kServerSource)) {
      file.settings.Add(without(kServerSource), key, value);
    } else if (its.starts_with(kServerSink)) {
      file.sink.Add(without(kServerSink), key, value);
    } else if (its.starts_with(kServerFormat)) {
      file.sink.Add("format." + without(kServerFormat), key, value);
    } else if (its.starts_with("debezium.transforms") ||
               its.starts_with("debezium.predicates")) {
      file.settings.Add(without(kServer), key, value);
    } else {
      file.sink.Add(key, key, value);
    }
  }
  return file;
}

}  // namespace

absl::StatusOr<ConnectorFile> ReadConnectorFile(std::string_view text) {
  const size_t first = FirstCharacter(text);
  if (first == std::string_view::npos) {
    return absl::InvalidArgumentError("it is empty");
  }
  if (!IsUtf8(text)) return absl::InvalidArgumentError("it is not UTF-8");
  if (text[first] == '{' || text[first] == '[') {
    return ReadJson(text.substr(first));
  }
  if (text.find("KafkaConnector") != std::string_view::npos) {
    return ReadYaml(text);
  }
  auto properties = ParseJavaProperties(text);
  WALPOST_RETURN_IF_ERROR(properties.status());
  for (const auto& property : *properties) {
    if (property.first.starts_with(kServerSource))
      return ReadServer(*properties);
  }
  ConnectorFile file;
  for (const auto& [key, value] : *properties) {
    file.settings.Add(key, key, value);
  }
  if (file.settings.Find("connector.class") == nullptr) {
    return absl::InvalidArgumentError(
        "it has no connector.class: give the JSON of a connector as GET "
        "/connectors/NAME shows it, a KafkaConnector of Strimzi, the "
        "properties of a connector, or those of Debezium Server "
        "(debezium.source.connector.class)");
  }
  return file;
}

std::string TopicPrefixOf(const ConnectorFile& file) {
  for (const char* name : {"topic.prefix", "database.server.name"}) {
    if (const Setting* setting = file.settings.Find(name)) {
      return setting->value;
    }
  }
  return "";
}

absl::StatusOr<Settings> ReadWorkerFile(std::string_view text) {
  auto properties = ParseJavaProperties(text);
  WALPOST_RETURN_IF_ERROR(properties.status());
  Settings settings;
  for (const auto& [key, value] : *properties) settings.Add(key, key, value);
  return settings;
}

}  // namespace walpost
