// Print: writes the output of verbs to stdout.
//
//   Print("{} {}\n", finding.subject, finding.text);
//
// Commands of walpost in the text get the arguments of this process
// (base/own_arguments.h). Throws std::system_error if stdout cannot be written;
// main turns that into an exit code.
#pragma once

#include <cstdio>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/own_arguments.h"
#include "fmt/format.h"

namespace walpost {

template <typename... Args>
void Print(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  fmt::print(to, "{}", WithOwnArguments(text));
}

template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  Print(stdout, format, std::forward<Args>(args)...);
}

// The same for content that is shown as it is: JSON, configuration, events.
inline void PrintContent(std::string_view content) {
  fmt::print("{}", content);
}

// Opens /dev/null for each one of stdin, stdout and stderr that is closed: else
// the next file or socket gets its number, and the output. Call it before
// opening anything.
void OpenClosedStreams();

// Flushes stdout. kUnavailable: that failed, as on a full disk. A pipe whose
// reader has closed it is not an error.
absl::Status FlushStdout();

// The same for a write to stdout that failed with `error` (errno).
absl::Status StdoutStatus(int error);

}  // namespace walpost
