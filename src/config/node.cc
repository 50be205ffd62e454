#include "config/node.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <exception>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr size_t kMostNodes = 10'000;
constexpr int kMostLevels = 32;

// Turns yaml-cpp's tree into ours. May throw whatever yaml-cpp throws.
class Converter {
 public:
  enum class Lines { kGiven, kNone };

  Converter(std::string_view source, Lines lines)
      : source_(source), lines_(lines) {}

  absl::StatusOr<Node> Convert(const YAML::Node& yaml, int level = 0) {
    Node node;
    node.where = Where(yaml.Mark());
    if (++nodes_ > kMostNodes || level > kMostLevels) {
      return ErrorAt(node, "",
                     fmt::format("more than {} values or {} levels, aliases "
                                 "counted as often as they are used",
                                 kMostNodes, kMostLevels));
    }
    switch (yaml.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return node;
      case YAML::NodeType::Scalar:
        node.kind = Node::Kind::kText;
        node.text = yaml.Scalar();
        return node;
      case YAML::NodeType::Sequence:
        node.kind = Node::Kind::kList;
        for (const YAML::Node& item : yaml) {
          WALPOST_ASSIGN_OR_RETURN(Node child, Convert(item, level + 1));
          node.children.push_back(std::move(child));
        }
        return node;
      case YAML::NodeType::Map:
        node.kind = Node::Kind::kMap;
        for (const auto& entry : yaml) {
          WALPOST_RETURN_IF_ERROR(
              AddEntry(entry.first, entry.second, level, node));
        }
        return node;
    }
    return node;
  }

 private:
  absl::Status AddEntry(const YAML::Node& key, const YAML::Node& value,
                        int level, Node& map) {
    Node at_key;
    at_key.where = Where(key.Mark());
    if (!key.IsScalar()) return ErrorAt(at_key, "", "a key must be a text");
    if (map.Find(key.Scalar()) != nullptr) {
      return ErrorAt(at_key, key.Scalar(), "the key is there twice");
    }
    WALPOST_ASSIGN_OR_RETURN(Node child, Convert(value, level + 1));
    child.key = key.Scalar();
    // A value that spans lines is found by its key.
    child.where = at_key.where;
    map.children.push_back(std::move(child));
    return absl::OkStatus();
  }

  std::string Where(const YAML::Mark& mark) const {
    if (lines_ == Lines::kNone) return source_;
    return fmt::format("{}:{}", source_, mark.line + 1);
  }

  std::string source_;
  Lines lines_;
  size_t nodes_ = 0;
};

absl::StatusOr<Node> ParseYaml(std::string_view text, std::string_view source,
                               Converter::Lines lines) {
  Node whole;
  whole.where = source;
  if (text.size() > kMostBytes) return ErrorAt(whole, "", "larger than 1 MiB");
  try {
    const std::vector<YAML::Node> documents =
        YAML::LoadAll(std::string(text));
    if (documents.empty()) return whole;
    if (documents.size() > 1) {
      return ErrorAt(whole, "", "more than one YAML document ('---')");
    }
    return Converter(source, lines).Convert(documents.front());
  } catch (const YAML::Exception& exception) {
    return ErrorAt(whole, "",
                   fmt::format("no valid YAML at line {}, column {}: {}",
                               exception.mark.line + 1,
                               exception.mark.column + 1, exception.msg));
  } catch (const std::exception& exception) {
    return ErrorAt(whole, "",
                   fmt::format("no valid YAML: {}", exception.what()));
  }
}

}  // namespace

const Node* Node::Find(std::string_view name) const {
  const auto found = std::ranges::find(children, name, &Node::key);
  return found == children.end() ? nullptr : &*found;
}

std::string_view KindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kText:
      return "a text";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return "";
}

absl::StatusOr<Node> ParseYamlFile(std::string_view text,
                                   std::string_view file_name) {
  return ParseYaml(text, file_name, Converter::Lines::kGiven);
}

absl::StatusOr<Node> ParseYamlArgument(std::string_view text,
                                       std::string_view path) {
  return ParseYaml(text, ArgumentName(path), Converter::Lines::kNone);
}

std::string ArgumentName(std::string_view path) {
  return fmt::format("--set {}", path);
}

absl::Status ErrorAt(const Node& node, std::string_view path,
                     std::string_view problem) {
  std::string message = node.where;
  // "--set kafka.brokers" has said the path.
  if (!path.empty() && node.where != ArgumentName(path)) {
    message += fmt::format(": {}", path);
  }
  message += fmt::format(": {}", problem);
  // What is quoted may hold line ends.
  std::ranges::replace_if(
      message, [](unsigned char c) { return absl::ascii_iscntrl(c); }, ' ');
  return absl::InvalidArgumentError(message);
}

}  // namespace walpost
