#include "config/reference_keys.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/check.h"
#include "config/loader.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Kind = KeyDescription::Kind;

// Those of sections of which only the keys in them mean something.
bool IsContainer(const KeyDescription& key) {
  return key.path.ends_with("tables") || key.path.ends_with("columns");
}

std::string Range(const KeyDescription& key) {
  return fmt::format("{}{} to {}", key.may_be_auto ? "`auto`, " : "",
                     Code(key.least), Code(key.most));
}

}  // namespace

std::string Code(std::string_view text) { return fmt::format("`{}`", text); }

const KeyText& TextOf(const KeyDescription& key) {
  const std::span<const KeyText> texts = KeyTexts();
  const auto found = std::ranges::find(texts, GeneralPath(key), &KeyText::path);
  WALPOST_CHECK(found != texts.end());
  return *found;
}

std::vector<KeyDescription> ReferenceKeys() {
  std::vector<KeyDescription> keys;
  for (const KeyDescription& key : DescribeDefaults()) {
    if (key.kind != Kind::kSection || !IsContainer(key)) keys.push_back(key);
  }
  return keys;
}

std::string ValuesOf(const KeyDescription& key) {
  switch (key.kind) {
    case Kind::kText:
      return "text";
    case Kind::kFlag:
      return "`true`, `false`";
    case Kind::kDuration:
    case Kind::kCount:
    case Kind::kSize:
      return Range(key);
    case Kind::kChoice:
      return absl::StrJoin(key.choices, ", ",
                           [](std::string* out, const std::string& choice) {
                             *out += Code(choice);
                           });
    case Kind::kList:
      return "list";
    case Kind::kTextOrList:
      return "text or list";
    case Kind::kMap:
    case Kind::kSection:
      return "mapping";
    case Kind::kField:
      return "column, `{constant: text}`, `null`";
    case Kind::kNullable:
      return "text, `null`";
  }
  return "";
}

// Empty: none.
std::string DefaultOf(const KeyDescription& key) {
  if (!key.value.IsDefined()) return "";
  if (!key.value.IsScalar()) {
    return key.value.size() == 0 ? "" : YAML::Dump(key.value);
  }
  return key.value.Scalar();
}

std::string ShownDefault(const KeyDescription& key) {
  const std::string_view fallback = TextOf(key).fallback;
  if (!fallback.empty()) return std::string(fallback);
  const std::string value = DefaultOf(key);
  return value.empty() ? "–" : Code(value);
}

// "[text](address)" as "text".
std::string WithoutLinks(std::string_view markdown) {
  std::string text;
  while (!markdown.empty()) {
    const size_t link = markdown.find("](");
    const size_t begin = markdown.rfind('[', link);
    if (link == std::string_view::npos || begin == std::string_view::npos) {
      break;
    }
    text += markdown.substr(0, begin);
    text += markdown.substr(begin + 1, link - begin - 1);
    markdown.remove_prefix(
        std::min(markdown.find(')', link), markdown.size() - 1) + 1);
  }
  return text += markdown;
}

}  // namespace walpost
