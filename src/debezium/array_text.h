// The text of an array as PostgreSQL prints it: {a,NULL,"b c"}.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "debezium/row_encoder.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

struct ArrayText {
  std::vector<Text> elements;  // nullopt: NULL
  bool is_nested = false;      // the elements are arrays; their texts are NULL
};

// kInvalidArgument: not an array.
absl::Status ParseArray(std::string_view text, TextArena& arena,
                        ArrayText& array);

}  // namespace walpost::debezium
