#include "import/secret_references.h"

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string VariableName(std::string_view key) {
  std::string name;
  for (const char c : key) {
    const auto letter = static_cast<unsigned char>(c);
    name += absl::ascii_isalnum(letter) ? absl::ascii_toupper(letter) : '_';
  }
  if (name.empty() ||
      absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
    return fmt::format("V{}", name);
  }
  return name;
}

}  // namespace

std::string SecretReferences::Variable(std::string_view key,
                                       std::string_view what) {
  const std::string name = VariableName(key);
  for (int number = 1;; ++number) {
    std::string one = number == 1 ? name : fmt::format("{}_{}", name, number);
    const auto [place, is_new] = variables_.emplace(one, what);
    if (is_new || place->second == what) return one;
  }
}

std::string SecretReferences::Reference(std::string_view inner,
                                        const Setting& setting) {
  const size_t first = inner.find(':');
  if (is_server_) {
    const std::string_view name = inner.substr(0, first);
    const std::string variable = Variable(name, name);
    if (first != std::string_view::npos || variable != name) {
      report_.Remark(
          setting.key,
          fmt::format("set the environment variable {} to the value that "
                      "Debezium Server uses for {}{}",
                      variable, name,
                      first == std::string_view::npos ? ""
                                                      : ", also if it was its "
                                                        "default"));
    }
    return fmt::format("${{env:{}}}", variable);
  }
  const size_t last = inner.rfind(':');
  const std::string_view provider = inner.substr(0, first);
  const std::string_view key =
      last == std::string_view::npos ? inner : inner.substr(last + 1);
  const std::string_view path =
      last <= first ? "" : inner.substr(first + 1, last - first - 1);
  const Setting* its =
      worker_.Find(fmt::format("config.providers.{}.class", provider));
  const std::string provider_class = its == nullptr ? "" : its->value;
  if (provider_class.ends_with(".EnvVarConfigProvider") ||
      (its == nullptr && provider == "env")) {
    return fmt::format("${{env:{}}}", Variable(key, key));
  }
  if (provider_class.ends_with(".DirectoryConfigProvider") ||
      (its == nullptr && (provider == "dir" || provider == "directory"))) {
    return fmt::format("${{file:{}/{}}}", path, key);
  }
  // DB_PASSWORD of /etc/kafka/db.properties:password
  const std::string_view last_part = path.substr(path.find_last_of("/:") + 1);
  const std::string_view stem = last_part.substr(0, last_part.find('.'));
  const std::string variable = Variable(
      stem.empty() ? std::string(key) : fmt::format("{}_{}", stem, key), inner);
  const std::string where = path.empty()
                                ? std::string(provider)
                                : fmt::format("{} ({})", path, provider);
  report_.Remark(
      setting.key,
      fmt::format("set the environment variable {} to the value of "
                  "{} in {}: walpost reads whole files and variables "
                  "only",
                  variable, key, where));
  return fmt::format("${{env:{}}}", variable);
}

// Something else may fill it in before Connect gets the file.
void SecretReferences::NoteTemplate(std::string_view inner,
                                    const Setting& setting) {
  report_.Open(setting.key,
               fmt::format("Connect takes ${{{0}}} as it stands, and so does "
                           "the configuration. If something fills it in "
                           "before, such as envsubst or Helm, write "
                           "${{env:{1}}} there, or import what it makes",
                           inner, VariableName(inner)));
}

bool SecretReferences::IsReplaced(std::string_view value) const {
  for (size_t at = 0; (at = value.find("${", at)) != std::string_view::npos;) {
    const size_t end = value.find('}', at);
    if (end == std::string_view::npos) return false;
    if (IsReference(value.substr(at + 2, end - at - 2))) return true;
    at = end;
  }
  return false;
}

std::string SecretReferences::Translate(const Setting& setting) {
  const std::string_view value = setting.value;
  std::string translated;
  for (size_t at = 0; at < value.size();) {
    const size_t start = value.find("${", at);
    translated.append(value.substr(at, start - at));
    if (start == std::string_view::npos) break;
    const size_t end = value.find('}', start);
    const std::string_view inner = value.substr(
        start + 2, end == std::string_view::npos ? end : end - start - 2);
    if (end == std::string_view::npos || !IsReference(inner)) {
      if (end != std::string_view::npos) NoteTemplate(inner, setting);
      translated += "$${";
      at = start + 2;
      continue;
    }
    translated += Reference(inner, setting);
    at = end + 1;
  }
  return translated;
}

std::string SecretReferences::TranslateSecret(const Setting& setting,
                                              const std::string& variable) {
  if (IsReplaced(setting.value)) return Translate(setting);
  const std::string name = Variable(variable, setting.key);
  report_.Remark(setting.key,
                 fmt::format("the file has the secret itself, which is not "
                             "repeated: set the environment variable {}, or "
                             "name a file with ${{file:PATH}}",
                             name));
  return fmt::format("${{env:{}}}", name);
}

}  // namespace walpost
