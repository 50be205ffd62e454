#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/reference.h"
#include "config/reference_keys.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// Lines of at most `width` bytes, each behind `prefix`.
std::string Wrapped(std::string_view text, const std::string& prefix,
                    size_t width) {
  std::string lines;
  while (!text.empty()) {
    size_t end = text.size();
    if (prefix.size() + end > width) {
      end = text.rfind(' ', width - prefix.size());
      if (end == std::string_view::npos) end = text.find(' ');
      end = std::min(end, text.size());
    }
    lines += fmt::format("{}{}\n", prefix, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Prints the sections around each key as they begin.
class SampleWriter {
 public:
  void Write(const KeyDescription& key) {
    const std::vector<std::string> parts = PartsOf(key.path);
    size_t same = 0;
    while (same < open_.size() && same + 1 < parts.size() &&
           open_[same] == parts[same]) {
      ++same;
    }
    open_.assign(parts.begin(), parts.end() - 1);
    // What creates topics has no defaults, and is itself a decision.
    const bool is_unset =
        !key.value.IsDefined() || GeneralPath(key).starts_with("*.");
    const bool begins_item = OpenSections(same, is_unset);
    const std::string indent(2 * Depth(), ' ');
    // What several keys have in common is said before the first of them.
    if (said_.insert(GeneralPath(key)).second) {
      const std::string note = fmt::format(
          "{}. Values: {}", WithoutLinks(TextOf(key).text), ValuesOf(key));
      text_ += Wrapped(absl::StrReplaceAll(note, {{"`", ""}}),
                       "#" + indent + "# ", kWidth);
    }
    if (is_unset) {
      text_ += fmt::format("#{}# {}:\n", indent, parts.back());
      return;
    }
    std::string line = indent;
    if (begins_item) line.replace(line.size() - 2, 2, "- ");
    YAML::Node node;
    node[parts.back()] = key.value;
    std::string value = YAML::Dump(node);
    value = absl::StrReplaceAll(value, {{"\n  []", " []"}, {"\n  {}", " {}"}});
    text_ += fmt::format("#{}{}\n", line, value);
  }

  const std::string& text() const { return text_; }

 private:
  static constexpr size_t kWidth = 88;

  // "a.b[0].c" as a, b, -, c.
  static std::vector<std::string> PartsOf(std::string_view path) {
    std::vector<std::string> parts(1);
    for (const char c : path) {
      if (c == '.') {
        parts.emplace_back();
      } else if (c == '[') {
        parts.emplace_back("-");
      } else if (parts.back() != "-") {
        parts.back() += c;
      }
    }
    return parts;
  }

  size_t Depth() const { return open_.size(); }

  // True: the next key is the first of an item of a list.
  bool OpenSections(size_t from, bool is_unset) {
    if (from == 0) text_ += "\n";
    bool begins_item = false;
    for (size_t i = from; i < open_.size(); ++i) {
      begins_item = open_[i] == "-";
      if (begins_item) continue;
      const bool is_comment = is_unset && open_[i] == "create_topics";
      text_ += fmt::format("#{}{}{}:\n", std::string(2 * i, ' '),
                           is_comment ? "# " : "", open_[i]);
    }
    return begins_item;
  }

  std::vector<std::string> open_;
  std::set<std::string> said_;
  std::string text_;
};

}  // namespace

std::string SampleConfig() {
  std::string text = R"(## Configuration of walpost.
##
## Each key is here with its default. To set one, remove the first # of its line,
## and of the sections around it. What is needed in any case:
##
)";
  const std::vector<std::string> example =
      absl::StrSplit(kExampleConfig, '\n', absl::SkipEmpty());
  for (const std::string& line : example) {
    text += fmt::format("##   {}\n", line);
  }
  SampleWriter writer;
  for (const KeyDescription& key : ReferenceKeys()) {
    if (key.kind != KeyDescription::Kind::kSection) writer.Write(key);
  }
  return text + writer.text();
}

}  // namespace walpost
