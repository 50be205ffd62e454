// The text of an hstore, "a"=>"1", "b"=>NULL, in the order of Java's HashMap,
// in which Debezium writes its entries.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "debezium/row_encoder.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

using HstoreEntries = std::vector<std::pair<std::string_view, Text>>;

// kInvalidArgument: not an hstore.
absl::StatusOr<HstoreEntries> ParseHstore(std::string_view text,
                                          TextArena& arena);

}  // namespace walpost::debezium
