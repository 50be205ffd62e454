#include "base/own_arguments.h"

#include <utility>

#include "absl/strings/str_replace.h"

namespace walpost {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@,+";

std::string& OwnArguments() {
  static std::string arguments(kOwnArguments);
  return arguments;
}

}  // namespace

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string ShellWord(std::string_view text) {
  const bool is_plain =
      !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
  return is_plain ? std::string(text) : ShellQuoted(text);
}

void SetOwnArguments(std::string arguments) {
  OwnArguments() = std::move(arguments);
}

std::string WithOwnArguments(std::string_view text) {
  const std::string from(kOwnArguments);
  return absl::StrReplaceAll(std::string(text), {{from, OwnArguments()}});
}

}  // namespace walpost
