// Node: the configuration as it was written, before anything is read from it.
//
// yaml-cpp parses and throws; here its result becomes a plain tree, without
// exceptions, in which every node says where it stands: `walpost.yaml:12`, or
// `--set kafka.brokers` for one from the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace walpost {

struct Node {
  enum class Kind {
    kNull,  // nothing, `null` or `~`, without quotes
    kText,  // any other scalar, as it is spelled
    kList,
    kMap,
  };

  Kind kind = Kind::kNull;
  std::string where;
  std::string key;             // of an entry of a map
  std::string text;            // of kText
  std::vector<Node> children;  // items of kList, entries of kMap

  // The entry of that name, nullptr when there is none. Valid until the
  // children change.
  const Node* Find(std::string_view name) const;
};

// "a text", "a list", ... for messages.
std::string_view KindName(Node::Kind kind);

// Parses one YAML document of a file; an empty one is kNull.
//
// kInvalidArgument: no YAML (line and column), a key that is no text or comes
// twice in its map, several documents, or more than fits the limits (1 MiB,
// 10,000 nodes with aliases expanded, 32 levels).
absl::StatusOr<Node> ParseYamlFile(std::string_view text,
                                   std::string_view file_name);

// The same for the value of `--set path=text`.
absl::StatusOr<Node> ParseYamlArgument(std::string_view text,
                                       std::string_view path);

// kInvalidArgument, on one line: "<where>: <path>: <problem>".
absl::Status ErrorAt(const Node& node, std::string_view path,
                     std::string_view problem);

// How `where` spells an argument.
std::string ArgumentName(std::string_view path);

}  // namespace walpost
