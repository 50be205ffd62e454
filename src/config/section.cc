#include "config/section.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/nearest_word.h"
#include "config/conninfo.h"
#include "config/conninfo_references.h"
#include "config/units.h"
#include "config/yaml_document.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string Suggest(std::string_view key,
                    const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(key, known);
  if (nearest.empty()) return "";
  return fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace

Section::Section(Document& document, const YAML::Node& node, std::string path)
    : document_(document), node_(node), path_(std::move(path)) {
  if (!node_.IsDefined() || node_.IsNull()) {
    node_ = YAML::Node(YAML::NodeType::Map);
    return;
  }
  if (!node_.IsMap()) {
    Fail("", "a mapping of keys is expected here");
    node_ = YAML::Node(YAML::NodeType::Map);
    return;
  }
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar()) {
      Fail("", "a key must be a word");
    } else if (!seen.insert(entry.first.Scalar()).second) {
      Fail(entry.first.Scalar(), "the key occurs twice");
    }
  }
}

std::string Section::PathOf(const std::string& key) const {
  if (path_.empty() || key.empty()) return path_ + key;
  return path_ + "." + key;
}

// True if --set gave the key, a key around it, or a key in it.
bool Section::IsOverridden(std::string_view path) const {
  const auto holds = [](std::string_view outer, std::string_view inner) {
    return inner.starts_with(outer) &&
           (inner.size() == outer.size() || inner[outer.size()] == '.' ||
            inner[outer.size()] == '[');
  };
  return std::ranges::any_of(document_.overridden, [&](const std::string& key) {
    return !path.empty() && (holds(key, path) || holds(path, key));
  });
}

void Section::Fail(const std::string& key, std::string_view reason) {
  if (failed() || is_described()) return;
  const std::string path = PathOf(key);
  std::string where = document_.file_name;
  int line = node_.Mark().line;
  if (node_.IsMap()) {
    for (const auto& entry : node_) {
      if (entry.first.IsScalar() && entry.first.Scalar() == key) {
        line = entry.first.Mark().line;
      }
    }
  }
  if (IsOverridden(path)) {
    where = "--set";
  } else if (line >= 0) {
    where += fmt::format(":{}", line + 1);
  }
  document_.error = absl::InvalidArgumentError(
      fmt::format("{}: {}{}{}", where, path, path.empty() ? "" : ": ", reason));
}

YAML::Node Section::Get(const std::string& key) {
  known_.push_back(key);
  const YAML::Node& node = node_;  // a const look-up inserts nothing
  return node[key] ? node[key] : YAML::Node(YAML::NodeType::Undefined);
}

bool Section::Has(const std::string& key) { return Get(key).IsDefined(); }

const Section::Replace Section::kPlain = [](std::string_view text,
                                            const Environment& from) {
  return Substitute(text, from);
};

std::string Section::Scalar(const std::string& key, const YAML::Node& node,
                            Replace replace) {
  if (failed()) return "";
  if (!node.IsScalar()) {
    Fail(key, node.Style() == YAML::EmitterStyle::Flow
                  ? "a single value is expected here; put text that begins "
                    "with { or [ in quotes"
                  : "a single value is expected here");
    return "";
  }
  absl::StatusOr<std::string> value =
      replace(node.Scalar(), document_.environment);
  if (value.ok()) return *std::move(value);
  Fail(key, std::string(value.status().message()));
  return "";
}

std::optional<std::string> Section::Text(const std::string& key) {
  const YAML::Node node = Get(key);
  if (!node.IsDefined() || node.IsNull()) return std::nullopt;
  std::string text = Scalar(key, node);
  if (failed()) return std::nullopt;
  return text;
}

bool Section::Describe(const std::string& key, KeyDescription description) {
  if (!is_described()) return false;
  description.path = PathOf(key);
  document_.description->push_back(std::move(description));
  return true;
}

bool Section::Describe(const std::string& key, KeyDescription::Kind kind,
                       const YAML::Node& value) {
  return Describe(key, KeyDescription{kind, value});
}

void Section::Read(const std::string& key, std::string& value) {
  if (Describe(key, KeyDescription::Kind::kText, Quoted(value))) return;
  if (std::optional<std::string> text = Text(key)) value = *std::move(text);
}

ReloadableText Section::Reloadable(const std::string& key,
                                   const YAML::Node& node, Replace replace) {
  const bool has_references =
      node.IsScalar() && node.Scalar().find("${") != std::string::npos;
  std::string now;
  if (!has_references || document_.secrets == Secrets::kNeeded) {
    now = Scalar(key, node, replace);
  }
  if (failed()) return {};
  const std::string& text = node.Scalar();
  if (!has_references) return now;
  const auto reader =
      [text, replace, path = PathOf(key),
       environment = document_.environment]() -> absl::StatusOr<std::string> {
    absl::StatusOr<std::string> value = replace(text, environment);
    if (value.ok()) return value;
    return absl::UnavailableError(
        fmt::format("{}: {}", path, std::string(value.status().message())));
  };
  std::optional<Sha256Digest> digest;
  if (document_.secrets == Secrets::kNeeded) digest = Sha256(now);
  return ReloadableText(text, reader, digest);
}

void Section::ReadConninfo(const std::string& key, ReloadableText& value) {
  if (is_described()) {
    const std::string shown = HideConninfoSecrets(value.Read().value_or(""));
    Describe(key, KeyDescription::Kind::kText, Quoted(shown));
    return;
  }
  const auto replace =
      [](std::string_view text,
         const Environment& from) -> absl::StatusOr<std::string> {
    absl::StatusOr<std::string> conninfo = SubstituteInConninfo(text, from);
    // Also when it is read again.
    const absl::Status status =
        conninfo.ok() ? CheckConninfo(*conninfo) : conninfo.status();
    if (!status.ok()) return status;
    return conninfo;
  };
  const YAML::Node node = Get(key);
  if (node.IsDefined() && !node.IsNull()) {
    value = Reloadable(key, node, replace);
  }
}

void Section::Read(const std::string& key, ReloadableText& value) {
  if (Describe(key, KeyDescription::Kind::kText, Quoted(value.configured()))) {
    return;
  }
  const YAML::Node node = Get(key);
  if (node.IsDefined() && !node.IsNull()) value = Reloadable(key, node);
}

void Section::ReadSecret(const std::string& key, ReloadableText& value) {
  const std::string_view shown = value.empty() ? "" : kHidden;
  if (Describe(key, KeyDescription::Kind::kText, Quoted(std::string(shown)))) {
    return;
  }
  const YAML::Node node = Get(key);
  if (node.IsDefined() && !node.IsNull()) value = Reloadable(key, node);
}

void Section::Read(const std::string& key, bool& value) {
  if (Describe(key, KeyDescription::Kind::kFlag, YAML::Node(value))) return;
  const std::optional<std::string> text = Text(key);
  if (!text) return;
  if (text != "true" && text != "false") {
    Fail(key, fmt::format("'{}' is neither true nor false", *text));
  }
  value = text == "true";
}

void Section::Read(const std::string& key, std::chrono::milliseconds& value,
                   std::chrono::milliseconds least,
                   std::chrono::milliseconds most) {
  if (is_described()) {
    KeyDescription description{KeyDescription::Kind::kDuration,
                               YAML::Node(FormatDuration(value))};
    description.least = FormatDuration(least);
    description.most = FormatDuration(most);
    Describe(key, std::move(description));
    return;
  }
  const std::optional<std::string> text = Text(key);
  if (!text) return;
  const absl::StatusOr<std::chrono::milliseconds> parsed = ParseDuration(*text);
  if (!parsed.ok()) {
    Fail(key, std::string(parsed.status().message()));
  } else if (*parsed < least || *parsed > most) {
    Fail(key, fmt::format("{} is not between {} and {}", *text,
                          FormatDuration(least), FormatDuration(most)));
  } else {
    value = *parsed;
  }
}

void Section::ReadNumber(const std::string& key, KeyDescription::Kind kind,
                         size_t& value, size_t least, size_t most,
                         bool* is_auto) {
  if (is_described()) {
    const bool is_size = kind == KeyDescription::Kind::kSize;
    const auto format = [is_size](size_t number) {
      return is_size ? FormatSize(number) : fmt::format("{}", number);
    };
    KeyDescription description{kind};
    if (is_auto != nullptr && *is_auto) {
      description.value = YAML::Node("auto");
    } else if (value >= least) {  // else it has none
      description.value = YAML::Node(format(value));
    }
    description.least = format(least);
    description.most = format(most);
    description.may_be_auto = is_auto != nullptr;
    Describe(key, std::move(description));
    return;
  }
  const std::optional<std::string> text = Text(key);
  if (!text) return;
  if (is_auto != nullptr) {
    *is_auto = *text == "auto";
    if (*is_auto) return;
  }
  const absl::StatusOr<size_t> parsed = ParseSize(*text);
  if (!parsed.ok()) {
    Fail(key, std::string(parsed.status().message()));
  } else if (*parsed < least || *parsed > most) {
    Fail(key, fmt::format("{} is not between {} and {}", *text,
                          FormatSize(least), FormatSize(most)));
  } else {
    value = *parsed;
  }
}

void Section::ReadCommand(const std::string& key,
                          std::vector<std::string>& words) {
  if (!is_described()) return ReadList(key, words);
  std::vector<std::string> shown = words;
  for (size_t i = 1; i < shown.size(); ++i) shown[i] = std::string(kHidden);
  ReadList(key, shown);
}

void Section::ReadTextOrList(const std::string& key, std::string& value) {
  constexpr auto kKind = KeyDescription::Kind::kTextOrList;
  if (Describe(key, kKind, Quoted(value))) return;
  if (!Get(key).IsSequence()) return Read(key, value);
  std::vector<std::string> pieces;
  ReadList(key, pieces);
  value = absl::StrJoin(pieces, ",");
}

void Section::ReadList(const std::string& key,
                       std::vector<std::string>& values) {
  if (Describe(key, KeyDescription::Kind::kList, Quoted(values))) return;
  const YAML::Node node = Get(key);
  if (!node.IsDefined() || node.IsNull()) return;
  if (!node.IsSequence()) return Fail(key, "a list is expected here");
  values.clear();
  for (const YAML::Node& item : node) values.push_back(Scalar(key, item));
}

template <typename Value, typename Convert>
void Section::ReadPairs(const std::string& key,
                        std::vector<std::pair<std::string, Value>>& values,
                        const Convert& convert) {
  const YAML::Node node = Get(key);
  if (!node.IsDefined() || node.IsNull()) return;
  Section map(document_, node, PathOf(key));
  values.clear();
  for (const auto& entry : map.node_) {
    if (failed()) return;
    const std::string name = entry.first.Scalar();
    values.emplace_back(name, convert(map, name, entry.second));
  }
}

void Section::ReadMap(
    const std::string& key,
    std::vector<std::pair<std::string, std::string>>& values) {
  YAML::Node described(YAML::NodeType::Map);
  for (const auto& [name, value] : values) described[name] = Quoted(value);
  if (Describe(key, KeyDescription::Kind::kMap, described)) return;
  ReadPairs(key, values,
            [](Section& map, const std::string& name, const YAML::Node& node) {
              return map.Scalar(name, node);
            });
}

void Section::ReadProperties(
    const std::string& key,
    std::vector<std::pair<std::string, ReloadableText>>& values) {
  YAML::Node described(YAML::NodeType::Map);
  for (const auto& [name, value] : values) {
    described[name] =
        Quoted(IsSecretProperty(name) ? std::string(kHidden)
                                      : value.Read().value_or(""));
  }
  if (Describe(key, KeyDescription::Kind::kMap, described)) return;
  ReadPairs(key, values,
            [](Section& map, const std::string& name, const YAML::Node& node) {
              return map.Reloadable(name, node);
            });
}

Section Section::Entry(const std::string& key, size_t i) {
  return Section(document_, YAML::Node(),
                 fmt::format("{}[{}]", PathOf(key), i));
}

Section Section::Child(const std::string& key) {
  return Section(document_, Get(key), PathOf(key));
}

std::vector<Section> Section::Children(const std::string& key) {
  std::vector<Section> children;
  const YAML::Node node = Get(key);
  if (!node.IsDefined() || node.IsNull()) return children;
  if (!node.IsSequence()) {
    Fail(key, "a list is expected here");
    return children;
  }
  for (size_t i = 0; i < node.size(); ++i) {
    children.emplace_back(document_, node[i],
                          fmt::format("{}[{}]", PathOf(key), i));
  }
  return children;
}

void Section::Done(std::string_view hint, const Explanation& explain) {
  for (const auto& entry : node_) {
    if (failed()) return;
    const std::string key = entry.first.Scalar();
    if (std::ranges::find(known_, key) == known_.end()) {
      const std::string explanation = explain ? explain(key) : "";
      const std::string suggestion = Suggest(key, known_);
      Fail(key, !explanation.empty()
                    ? explanation
                    : fmt::format("there is no such key{}",
                                  suggestion.empty() ? hint : suggestion));
    }
  }
}

}  // namespace walpost
