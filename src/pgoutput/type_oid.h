// Object ids of built-in types whose text form needs care (pg_type.dat).
#pragma once

#include <cstdint>

namespace walpost::pgoutput {

inline constexpr uint32_t kBoolOid = 16;
inline constexpr uint32_t kByteaOid = 17;
inline constexpr uint32_t kNameOid = 19;
inline constexpr uint32_t kInt8Oid = 20;
inline constexpr uint32_t kInt2Oid = 21;
inline constexpr uint32_t kInt4Oid = 23;
inline constexpr uint32_t kTextOid = 25;
inline constexpr uint32_t kJsonOid = 114;
inline constexpr uint32_t kBpcharOid = 1042;
inline constexpr uint32_t kVarcharOid = 1043;
inline constexpr uint32_t kTimestampOid = 1114;
inline constexpr uint32_t kTimestamptzOid = 1184;
inline constexpr uint32_t kUuidOid = 2950;
inline constexpr uint32_t kJsonbOid = 3802;

// int2, int4 or int8.
constexpr bool IsInteger(uint32_t oid) {
  return oid == kInt2Oid || oid == kInt4Oid || oid == kInt8Oid;
}

// True if its text can be a JSON object: json, jsonb, any text, or bytea, whose
// bytes may be one.
constexpr bool CanHoldJson(uint32_t oid) {
  return oid == kJsonOid || oid == kJsonbOid || oid == kByteaOid ||
         oid == kTextOid || oid == kVarcharOid || oid == kBpcharOid ||
         oid == kNameOid;
}

// True with and without a time zone.
constexpr bool IsTimestamp(uint32_t oid) {
  return oid == kTimestampOid || oid == kTimestamptzOid;
}

}  // namespace walpost::pgoutput
