// ${env:NAME} and ${file:PATH} inside configuration values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

// Where the values come from; tests and fuzzers bring their own.
struct Environment {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  // Its content, or why it cannot be read (config/read_file.h).
  std::function<absl::StatusOr<std::string>(const std::string& path)> file;

  // The process's own.
  static Environment Real();
};

// Replaces every reference in `text`; a file loses its last newline. What
// comes out is not looked at again. "$${" stands for "${".
// kInvalidArgument names a variable that is not set, a file that cannot be
// read, or a reference that is malformed.
absl::StatusOr<std::string> Substitute(std::string_view text,
                                       const Environment& environment);

}  // namespace walpost
