// ${env:NAME} and ${file:PATH} inside configuration values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

// Source of the values; tests and fuzzers use their own.
struct Environment {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  // The content, or why it cannot be read (config/read_file.h).
  std::function<absl::StatusOr<std::string>(const std::string& path)> file;

  // Variables and files of the process.
  static Environment Real();
};

// Makes a value fit the place of its reference, text[begin, end).
using QuoteValue = std::function<absl::StatusOr<std::string>(
    const std::string& value, size_t begin, size_t end)>;

// Replaces every reference in `text`; a file loses its last newline. The result
// is not searched again. "$${" stands for "${". kInvalidArgument names a
// variable that is not set, a file that cannot be read, or a malformed
// reference.
absl::StatusOr<std::string> Substitute(std::string_view text,
                                       const Environment& environment,
                                       const QuoteValue& quote = nullptr);

// `text`, with a word that stands for the value in the place of each reference:
// the same word for the same one. Reads nothing. Empty: a malformed reference.
std::string MaskReferences(std::string_view text);

}  // namespace walpost
