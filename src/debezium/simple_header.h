// Header values as org.apache.kafka.connect.storage.SimpleHeaderConverter
// writes them: a text without quotes, a number, bytes in base64; arrays and
// structs much like JSON.
//
//   T"q\é    AP9B    ["a",null,"b c"]    {"scale":1,"value":"ew=="}
#pragma once

#include <string>

#include "absl/status/status.h"
#include "debezium/connect_value.h"

namespace walpost::debezium {

// `value` is not null. kInvalidArgument: an integer beyond 64 bits.
absl::Status AppendSimpleHeader(const Value& value, std::string& out);

}  // namespace walpost::debezium
