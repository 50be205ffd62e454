// BatchResult: what append_entries.lua says about a batch. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "redis/entry_id.h"
#include "redis/resp.h"

namespace walpost {

struct BatchResult {
  // Errors of the script itself; others are those of Redis.
  static constexpr std::string_view kMissing = "MISSING";
  static constexpr std::string_view kBehind = "BEHIND";

  // A reply that is not one of the script is an error.
  static BatchResult Of(const Reply& reply);

  std::string error;     // empty: all of the batch is in the stream
  size_t done = 0;       // records from the first on that are
  EntryId newest;        // entry of the stream
  size_t displaced = 0;  // records whose place was taken
  std::string repeated;  // for the next batch
};

}  // namespace walpost
