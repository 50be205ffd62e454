#include "config/substitution.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "config/read_file.h"
#include "fmt/format.h"

namespace walpost {
namespace {

absl::StatusOr<std::string> LookUp(std::string_view reference,
                                   const Environment& environment) {
  const size_t colon = reference.find(':');
  const std::string_view kind = reference.substr(0, colon);
  const std::string name(colon == std::string_view::npos
                             ? std::string_view()
                             : reference.substr(colon + 1));
  if (kind == "env" && !name.empty()) {
    if (auto value = environment.variable(name)) return *value;
    return absl::InvalidArgumentError(
        fmt::format("environment variable {} is not set: export it for "
                    "every command that connects",
                    name));
  }
  if (kind == "file" && !name.empty()) {
    absl::StatusOr<std::string> content = environment.file(name);
    if (!content.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("file {} cannot be read: {}", name,
                      std::string(content.status().message())));
    }
    if (content->ends_with('\n')) content->pop_back();
    return *std::move(content);
  }
  const bool is_shells = colon == std::string_view::npos &&
                         !reference.empty() && reference != "env" &&
                         reference != "file";
  return absl::InvalidArgumentError(fmt::format(
      "'${{{}}}' is neither ${{env:NAME}} nor ${{file:PATH}}{}", reference,
      is_shells ? fmt::format("; did you mean ${{env:{}}}?", reference) : ""));
}

}  // namespace

Environment Environment::Real() {
  Environment real;
  real.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
  real.file = [](const std::string& path) { return ReadFile(path); };
  return real;
}

absl::StatusOr<std::string> Substitute(std::string_view text,
                                       const Environment& environment,
                                       const QuoteValue& quote) {
  std::string result;
  const std::string_view whole = text;
  for (;;) {
    const size_t dollar = text.find("${");
    if (dollar == std::string_view::npos) break;
    if (dollar > 0 && text[dollar - 1] == '$') {
      result.append(text.substr(0, dollar - 1)).append("${");
      text.remove_prefix(dollar + 2);
      continue;
    }
    result.append(text.substr(0, dollar));
    const size_t end = text.find('}', dollar);
    if (end == std::string_view::npos) {
      return absl::InvalidArgumentError("a '${' without its '}'");
    }
    WALPOST_ASSIGN_OR_RETURN(
        std::string value,
        LookUp(text.substr(dollar + 2, end - dollar - 2), environment));
    if (quote) {
      const size_t done = whole.size() - text.size();
      WALPOST_ASSIGN_OR_RETURN(value,
                               quote(value, done + dollar, done + end + 1));
    }
    result.append(value);
    text.remove_prefix(end + 1);
  }
  return result.append(text);
}

std::string MaskReferences(std::string_view text) {
  const auto word = [](const std::string& name) {
    return fmt::format("reference-{:x}", std::hash<std::string>()(name));
  };
  Environment names;
  names.variable = [word](const std::string& name) {
    return word("env" + name);
  };
  names.file = [word](const std::string& path) { return word("file" + path); };
  return Substitute(text, names).value_or("");
}

}  // namespace walpost
