#include "import/import_context.h"

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace walpost {

std::optional<std::string> ImportContext::Plain(Settings& from,
                                                const std::string& name) {
  const Setting* setting = from.Take(name);
  if (setting == nullptr) return std::nullopt;
  if (SecretReferences::HasReference(setting->value)) {
    report.Refuse(setting->key,
                  "its value is a reference, and the import must know the "
                  "value: write it into the file");
    return std::nullopt;
  }
  return std::string(absl::StripAsciiWhitespace(setting->value));
}

std::optional<bool> ImportContext::Flag(Settings& from,
                                        const std::string& name) {
  const std::optional<std::string> value = Plain(from, name);
  if (!value) return std::nullopt;
  const std::string lower = absl::AsciiStrToLower(*value);
  if (lower == "true") return true;
  if (lower == "false") return false;
  report.Refuse(from.Find(name)->key,
                fmt::format("'{}' is not true or false", *value));
  return std::nullopt;
}

std::optional<std::string> ImportContext::Choice(
    const std::string& name,
    const std::vector<std::pair<std::string_view, std::string_view>>& names) {
  const std::optional<std::string> value = Plain(name);
  if (!value) return std::nullopt;
  std::string known;
  for (const auto& [theirs, ours] : names) {
    if (absl::AsciiStrToLower(*value) == std::string(theirs)) {
      return std::string(ours);
    }
    if (!known.empty()) known += ", ";
    known += theirs;
  }
  report.Refuse(settings.Find(name)->key,
                fmt::format("'{}' is not one of {}", *value, known));
  return std::nullopt;
}

void ImportContext::SetRecords(std::string_view key, std::string_view value) {
  config.records.emplace_back(key, value);
}

}  // namespace walpost
