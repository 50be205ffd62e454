// KeyDescription: the possible values of a key of the configuration, and its
// value.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <vector>

namespace walpost {

struct KeyDescription {
  enum class Kind {
    kText,
    kFlag,
    kDuration,
    kCount,
    kSize,    // in bytes
    kChoice,  // one of `choices`
    kList,    // of texts
    kTextOrList,
    kMap,       // of names to texts
    kField,     // a column, {constant: text} or null
    kNullable,  // a text, or null
    kSection,   // a mapping whose presence means something
  };

  Kind kind = Kind::kText;
  // Undefined: the key has no value, and is not printed. Secrets are hidden.
  // (To assign a node to another changes that one everywhere: copy, never
  // assign.)
  YAML::Node value = YAML::Node(YAML::NodeType::Undefined);
  std::string path = {};  // "outbox.tables[0].topic"
  std::vector<std::string> choices = {};
  // The range of a kDuration, kCount or kSize, as the file spells it.
  std::string least = {};
  std::string most = {};
  // A kCount or kSize may be "auto".
  bool may_be_auto = false;
};

// "outbox.tables[0].topic" as "outbox.tables[].topic".
std::string PathInEachEntry(std::string_view path);

}  // namespace walpost
