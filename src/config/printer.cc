#include "config/printer.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "config/loader.h"

namespace walpost {
namespace {

// The node for "a.b[0].c", in a tree that gets what it lacks.
YAML::Node At(YAML::Node node, std::string_view path) {
  while (!path.empty()) {
    const bool is_index = path.front() == '[';
    const size_t end =
        std::min(path.find_first_of(is_index ? "]" : ".["), path.size());
    const std::string part(path.substr(is_index, end - is_index));
    node.reset(is_index ? node[std::stoul(part)] : node[part]);
    path.remove_prefix(std::min(end + is_index, path.size()));
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return node;
}

// Keys that are printed only if they were set: those of an entry, and those for
// which the absence of a value means something.
bool IsPrintedIfSet(std::string_view path) {
  return path.starts_with("outbox.") || path == "route.partition" ||
         path.find("create_topics.") != std::string_view::npos;
}

// Among them, those that are always printed.
bool IsAlwaysPrinted(const KeyDescription& key) {
  return key.kind == KeyDescription::Kind::kSection ||
         key.path.ends_with("].name") || key.path.ends_with("messages.format");
}

bool IsIgnored(const Config& config, std::string_view path) {
  if (path.starts_with("outbox.messages.")) {
    return !config.outbox.messages.enabled();
  }
  for (const auto& [name, kind] : kSinkKinds) {
    if (kind == config.sink) continue;
    if (path.starts_with(name) && path.substr(name.size()).starts_with('.')) {
      return true;
    }
  }
  if (path.starts_with("records.") && path != "records.profile") {
    return config.outbox.debezium == nullptr;
  }
  return config.keeps_letters() && (path == "dead_letter.topic" ||
                                    path.starts_with("dead_letter.create"));
}

}  // namespace

std::string PrintConfig(const Config& config) {
  std::map<std::string, std::string> defaults;
  for (const KeyDescription& key : DescribeDefaults()) {
    if (key.value.IsDefined()) {
      defaults[PathInEachEntry(key.path)] = YAML::Dump(key.value);
    }
  }
  YAML::Node root(YAML::NodeType::Map);
  for (const KeyDescription& key : DescribeKeys(config)) {
    if (!key.value.IsDefined() || IsIgnored(config, key.path)) continue;
    const bool is_set =
        YAML::Dump(key.value) != defaults[PathInEachEntry(key.path)];
    if (IsPrintedIfSet(key.path) && !is_set && !IsAlwaysPrinted(key)) continue;
    At(root, key.path) = key.value;
  }
  return YAML::Dump(root) + "\n";
}

}  // namespace walpost
