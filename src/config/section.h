// Section: one mapping of the YAML file, read key by key.
//
//   Section root(document, node, "");
//   Section kafka = root.Child("kafka");
//   kafka.Read("brokers", options.brokers);
//   kafka.Done();                       // any other key is an error
//
// The first error is kept in the Document; afterwards nothing is read, so the
// caller checks once, at the end. Every error is one line with file, line, key
// and the expected value.
//
// The same calls describe the keys, with the values that they would set: of a
// Document with a `description`, nothing is read and nothing fails.
#pragma once

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/choices.h"
#include "base/reloadable_text.h"
#include "config/key_description.h"
#include "config/secrets.h"
#include "config/substitution.h"

namespace walpost {

// State shared by the sections of one file.
struct Document {
  std::string file_name;
  const Environment& environment;
  std::set<std::string> overridden;  // keys given with --set
  absl::Status error;
  Secrets secrets = Secrets::kNeeded;
  std::vector<KeyDescription>* description = nullptr;
};

class Section {
 public:
  // `node` is a mapping, or null for an empty section. `path` is the dotted key
  // of the section, empty for the whole file. `document` outlives it.
  Section(Document& document, const YAML::Node& node, std::string path);

  // Each leaves its target unchanged if the key is missing.
  void Read(const std::string& key, std::string& value);
  // References are quoted for their place (conninfo_references.h).
  void ReadConninfo(const std::string& key, ReloadableText& value);
  // References are replaced again at each use.
  void Read(const std::string& key, ReloadableText& value);
  // Likewise a password or the like, which is described without its value.
  void ReadSecret(const std::string& key, ReloadableText& value);
  void Read(const std::string& key, bool& value);
  void Read(const std::string& key, std::chrono::milliseconds& value,
            std::chrono::milliseconds least, std::chrono::milliseconds most);
  // Both accept a plain number, or one with a unit of bytes.
  void ReadCount(const std::string& key, size_t& value, size_t least,
                 size_t most) {
    ReadNumber(key, KeyDescription::Kind::kCount, value, least, most);
  }
  void ReadSize(const std::string& key, size_t& value, size_t least,
                size_t most) {
    ReadNumber(key, KeyDescription::Kind::kSize, value, least, most);
  }
  // Reads a count, or "auto", which leaves `value` unchanged.
  void ReadCountOrAuto(const std::string& key, size_t& value, bool& is_auto,
                       size_t least, size_t most) {
    ReadNumber(key, KeyDescription::Kind::kCount, value, least, most, &is_auto);
  }
  void ReadSizeOrAuto(const std::string& key, size_t& value, bool& is_auto,
                      size_t least, size_t most) {
    ReadNumber(key, KeyDescription::Kind::kSize, value, least, most, &is_auto);
  }
  // One of the names; sets `choice` to its value. Of two names of a value the
  // first is printed.
  template <typename Enum>
  void ReadChoice(const std::string& key, Enum& choice,
                  const std::vector<std::pair<std::string_view, Enum>>& names);
  template <typename Enum, size_t n>
  void ReadChoice(const std::string& key, Enum& choice,
                  const Choices<Enum, n>& names) {
    ReadChoice<Enum>(key, choice, {names.begin(), names.end()});
  }
  void ReadList(const std::string& key, std::vector<std::string>& values);
  // A program and its arguments, which are described without their values.
  void ReadCommand(const std::string& key, std::vector<std::string>& words);
  // A text with commas, or a list of its pieces.
  void ReadTextOrList(const std::string& key, std::string& value);
  // A mapping of names to texts, in the order of the file.
  void ReadMap(const std::string& key,
               std::vector<std::pair<std::string, std::string>>& values);
  // Properties of librdkafka; secret ones are described without their values.
  // References are replaced again at each use; here only as a check.
  void ReadProperties(
      const std::string& key,
      std::vector<std::pair<std::string, ReloadableText>>& values);

  // True: describe `key` with its `value`, and read nothing. An undefined
  // value: the key has none.
  bool Describe(const std::string& key, KeyDescription::Kind kind,
                const YAML::Node& value);
  bool is_described() const { return document_.description != nullptr; }

  bool Has(const std::string& key);
  Section Child(const std::string& key);
  std::vector<Section> Children(const std::string& key);
  // The entry `i` of a list, for a description, which has no nodes.
  Section Entry(const std::string& key, size_t i);
  // The unchanged node, for values of more than one shape.
  YAML::Node Get(const std::string& key);
  // A scalar with its references replaced.
  std::string Scalar(const std::string& key, const YAML::Node& node) {
    return Scalar(key, node, kPlain);
  }

  // Explains what is wrong with an unknown key; empty: nothing more is known.
  using Explanation = std::function<std::string(const std::string& key)>;
  // All known keys were read: any other key is an error.
  void Done(std::string_view hint = "", const Explanation& explain = nullptr);

  // Records an error at `key`.
  void Fail(const std::string& key, std::string_view reason);
  bool failed() const { return !document_.error.ok(); }

 private:
  std::string PathOf(const std::string& key) const;
  bool IsOverridden(std::string_view path) const;
  // nullopt: the key is missing or null, or there was an error.
  std::optional<std::string> Text(const std::string& key);
  // Replaces the references of a text.
  using Replace = absl::StatusOr<std::string> (*)(std::string_view text,
                                                  const Environment& from);
  static const Replace kPlain;
  std::string Scalar(const std::string& key, const YAML::Node& node,
                     Replace replace);
  ReloadableText Reloadable(const std::string& key, const YAML::Node& node,
                            Replace replace = kPlain);
  void ReadNumber(const std::string& key, KeyDescription::Kind kind,
                  size_t& value, size_t least, size_t most,
                  bool* is_auto = nullptr);
  bool Describe(const std::string& key, KeyDescription description);
  template <typename Value, typename Convert>
  void ReadPairs(const std::string& key,
                 std::vector<std::pair<std::string, Value>>& values,
                 const Convert& convert);

  Document& document_;
  YAML::Node node_;
  std::string path_;
  std::vector<std::string> known_;
};

template <typename Enum>
void Section::ReadChoice(
    const std::string& key, Enum& choice,
    const std::vector<std::pair<std::string_view, Enum>>& names) {
  if (is_described()) {
    KeyDescription description{KeyDescription::Kind::kChoice};
    for (const auto& [name, value] : names) {
      description.choices.emplace_back(name);
      if (value != choice || description.value.IsDefined()) continue;
      description.value = YAML::Node(std::string(name));
    }
    Describe(key, std::move(description));
    return;
  }
  const std::optional<std::string> text = Text(key);
  if (!text) return;
  std::string expected;
  for (const auto& [name, value] : names) {
    if (text == name) {
      choice = value;
      return;
    }
    expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  Fail(key, "'" + *text + "' is not one of " + expected);
}

}  // namespace walpost
