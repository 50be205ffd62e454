// An LSN on the command line.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "fmt/format.h"

namespace walpost {

// 0/0 if `text` is empty: the option was not given. kInvalidArgument names the
// option and its value.
inline absl::StatusOr<Lsn> ParseLsnOption(const char* option,
                                          const std::string& text) {
  if (text.empty()) return Lsn();
  absl::StatusOr<Lsn> lsn = Lsn::Parse(text);
  if (lsn.ok() && lsn->is_valid()) return lsn;
  return absl::InvalidArgumentError(fmt::format(
      "{}: '{}' is not an LSN; it looks like 16/B374D848", option, text));
}

}  // namespace walpost
