// Object ids of the built-in types that Debezium has values for (pg_type.dat),
// beside those of pgoutput/type_oid.h.
#pragma once

#include <cstdint>

#include "pgoutput/type_oid.h"

namespace walpost::debezium {

inline constexpr uint32_t kCharOid = 18;  // "char"
inline constexpr uint32_t kOidOid = 26;
inline constexpr uint32_t kXmlOid = 142;
inline constexpr uint32_t kCidrOid = 650;
inline constexpr uint32_t kFloat4Oid = 700;
inline constexpr uint32_t kFloat8Oid = 701;
inline constexpr uint32_t kMacaddr8Oid = 774;
inline constexpr uint32_t kMoneyOid = 790;
inline constexpr uint32_t kMacaddrOid = 829;
inline constexpr uint32_t kInetOid = 869;
inline constexpr uint32_t kDateOid = 1082;
inline constexpr uint32_t kTimeOid = 1083;
inline constexpr uint32_t kIntervalOid = 1186;
inline constexpr uint32_t kTimetzOid = 1266;
inline constexpr uint32_t kBitOid = 1560;
inline constexpr uint32_t kVarbitOid = 1562;
inline constexpr uint32_t kNumericOid = 1700;
inline constexpr uint32_t kTsvectorOid = 3614;
inline constexpr uint32_t kInt4rangeOid = 3904;
inline constexpr uint32_t kNumrangeOid = 3906;
inline constexpr uint32_t kTsrangeOid = 3908;
inline constexpr uint32_t kTstzrangeOid = 3910;
inline constexpr uint32_t kDaterangeOid = 3912;
inline constexpr uint32_t kInt8rangeOid = 3926;

// The type of an array's elements; 0: it is not the oid of an array that
// Debezium has values for.
constexpr uint32_t ElementOid(uint32_t array_oid) {
  switch (array_oid) {
    case 1000:
      return pgoutput::kBoolOid;
    case 1001:
      return pgoutput::kByteaOid;
    case 1002:
      return kCharOid;
    case 1005:
      return pgoutput::kInt2Oid;
    case 1007:
      return pgoutput::kInt4Oid;
    case 1009:
      return pgoutput::kTextOid;
    case 1014:
      return pgoutput::kBpcharOid;
    case 1015:
      return pgoutput::kVarcharOid;
    case 1016:
      return pgoutput::kInt8Oid;
    case 1021:
      return kFloat4Oid;
    case 1022:
      return kFloat8Oid;
    case 1028:
      return kOidOid;
    case 199:
      return pgoutput::kJsonOid;
    case 651:
      return kCidrOid;
    case 775:
      return kMacaddr8Oid;
    case 1040:
      return kMacaddrOid;
    case 1041:
      return kInetOid;
    case 1115:
      return pgoutput::kTimestampOid;
    case 1182:
      return kDateOid;
    case 1183:
      return kTimeOid;
    case 1185:
      return pgoutput::kTimestamptzOid;
    case 1231:
      return kNumericOid;
    case 1270:
      return kTimetzOid;
    case 2951:
      return pgoutput::kUuidOid;
    case 3807:
      return pgoutput::kJsonbOid;
    case 3905:
      return kInt4rangeOid;
    case 3907:
      return kNumrangeOid;
    case 3909:
      return kTsrangeOid;
    case 3911:
      return kTstzrangeOid;
    case 3913:
      return kDaterangeOid;
    case 3927:
      return kInt8rangeOid;
    default:
      return 0;
  }
}

}  // namespace walpost::debezium
