// For verbs about the slot, which a polling walpost does not have.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "config/config.h"
#include "fmt/format.h"

namespace walpost {

// kInvalidArgument: the source is not the WAL; `instead` is the alternative.
inline absl::Status RequireWalSource(const Config& config,
                                     std::string_view verb,
                                     std::string_view instead) {
  if (config.source == Source::kWal) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{} is for source: wal, and this configuration has source: polling: {}",
      verb, instead));
}

}  // namespace walpost
