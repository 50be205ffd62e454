// Converts a column, as the server renders it, to the bytes for Kafka.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace walpost {

// Decodes bytea's hex form (`\x00ff`) into `bytes`. kInvalidArgument: it does
// not have that form (the connection pins bytea_output=hex).
absl::Status DecodeBytea(std::string_view text, std::string& bytes);

// True if DecodeTimestamp reads columns of this type.
bool IsTimestampType(uint32_t type_oid);

// Reads a timestamp or timestamptz as ISO text in UTC (the connection pins
// DateStyle and TimeZone), or an integer column as milliseconds since 1970.
// kInvalidArgument: another type, infinity, or a date before 1970 (Kafka has no
// earlier timestamps).
absl::StatusOr<WallTime> DecodeTimestamp(uint32_t type_oid,
                                         std::string_view text);

}  // namespace walpost
