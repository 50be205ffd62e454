// The text of an array as PostgreSQL prints it: {a,NULL,"b c"}.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "debezium/row_encoder.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

// The elements; nullopt: NULL. kInvalidArgument: not an array, or one of more
// than one dimension, whose elements Java prints differently in each run.
absl::Status ParseArray(std::string_view text, TextArena& arena,
                        std::vector<Text>& elements);

}  // namespace walpost::debezium
