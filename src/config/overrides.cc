#include "config/overrides.h"

#include "config/conninfo.h"
#include "config/secrets.h"
#include "config/yaml_document.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// "a.b.c" -> a, b, c; names in an open mapping keep their dots.
std::vector<std::string> SplitKey(std::string_view key) {
  constexpr std::string_view kOpenMappings[] = {"kafka.properties.",
                                                "route.headers."};
  std::vector<std::string> parts;
  size_t fixed_length = key.size();
  for (const std::string_view prefix : kOpenMappings) {
    if (key.starts_with(prefix)) fixed_length = prefix.size();
  }
  size_t from = 0;
  for (size_t dot = key.find('.'); dot < fixed_length;
       dot = key.find('.', from)) {
    parts.emplace_back(key.substr(from, dot - from));
    from = dot + 1;
  }
  parts.emplace_back(key.substr(from));
  return parts;
}

}  // namespace

absl::Status ApplyOverrides(const std::vector<std::string>& overrides,
                            YAML::Node& root,
                            std::set<std::string>& overridden) {
  if (root.IsNull()) root = YAML::Node(YAML::NodeType::Map);  // an empty file
  for (const std::string& override : overrides) {
    const size_t equals = override.find('=');
    const std::string key = override.substr(0, equals);
    if (equals == std::string::npos || key.empty()) {
      return absl::InvalidArgumentError(fmt::format(
          "--set {}: write it as key=value, as in kafka.brokers=host:9092",
          override));
    }
    YAML::Node node;
    node.reset(root);
    for (const std::string& part : SplitKey(key)) {
      if (node.IsDefined() && !node.IsNull() && !node.IsMap()) {
        return absl::InvalidArgumentError(fmt::format(
            "--set {}: '{}' lies in something that is not a mapping", key,
            part));
      }
      node.reset(node[part]);
    }
    try {
      node = LoadYamlDocument(override.substr(equals + 1));
    } catch (const YAML::Exception& error) {
      return absl::InvalidArgumentError(
          fmt::format("--set {}: the value is not YAML: {}", key, error.msg));
    }
    overridden.insert(key);
  }
  return absl::OkStatus();
}

bool MayHoldSecret(const std::string& override) {
  constexpr std::string_view kProperty = "kafka.properties.";
  const size_t equals = override.find('=');
  const std::string key = override.substr(0, equals);
  if (key == "postgres.conninfo") {
    const std::string value = override.substr(equals + 1);
    return HideConninfoSecrets(value).find(kHidden) != std::string::npos;
  }
  if (key.starts_with(kProperty)) {
    return IsSecretProperty(key.substr(kProperty.size()));
  }
  return key == "postgres" || key == "kafka" || key == "kafka.properties" ||
         key == "postgres.password_command" || key == "kafka.token_command";
}

}  // namespace walpost
