// Object ids of the built-in types that Debezium has values for (pg_type.dat),
// beside those of pgoutput/type_oid.h.
#pragma once

#include <cstdint>

#include "pgoutput/type_oid.h"

namespace walpost::debezium {

inline constexpr uint32_t kCharOid = 18;  // "char"
inline constexpr uint32_t kOidOid = 26;
inline constexpr uint32_t kInt2vectorOid = 22;
inline constexpr uint32_t kOidvectorOid = 30;
inline constexpr uint32_t kXmlOid = 142;
inline constexpr uint32_t kPointOid = 600;
inline constexpr uint32_t kLsegOid = 601;
inline constexpr uint32_t kPathOid = 602;
inline constexpr uint32_t kBoxOid = 603;
inline constexpr uint32_t kPolygonOid = 604;
inline constexpr uint32_t kLineOid = 628;
inline constexpr uint32_t kCidrOid = 650;
inline constexpr uint32_t kFloat4Oid = 700;
inline constexpr uint32_t kFloat8Oid = 701;
inline constexpr uint32_t kMacaddr8Oid = 774;
inline constexpr uint32_t kCircleOid = 718;
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
inline constexpr uint32_t kRefcursorOid = 1790;
inline constexpr uint32_t kTsvectorOid = 3614;
inline constexpr uint32_t kInt4rangeOid = 3904;
inline constexpr uint32_t kNumrangeOid = 3906;
inline constexpr uint32_t kTsrangeOid = 3908;
inline constexpr uint32_t kTstzrangeOid = 3910;
inline constexpr uint32_t kDaterangeOid = 3912;
inline constexpr uint32_t kInt8rangeOid = 3926;

// Types that Debezium knows arrays of, with elements that may be NULL.
constexpr bool IsListedElement(uint32_t element_oid) {
  switch (element_oid) {
    case pgoutput::kBoolOid:
    case pgoutput::kByteaOid:
    case kCharOid:
    case pgoutput::kInt2Oid:
    case pgoutput::kInt4Oid:
    case pgoutput::kInt8Oid:
    case pgoutput::kTextOid:
    case pgoutput::kBpcharOid:
    case pgoutput::kVarcharOid:
    case kFloat4Oid:
    case kFloat8Oid:
    case kOidOid:
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
    case kCidrOid:
    case kInetOid:
    case kMacaddrOid:
    case kMacaddr8Oid:
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
    case kDateOid:
    case kTimeOid:
    case kTimetzOid:
    case kNumericOid:
    case pgoutput::kUuidOid:
    case kInt4rangeOid:
    case kInt8rangeOid:
    case kNumrangeOid:
    case kTsrangeOid:
    case kTstzrangeOid:
    case kDaterangeOid:
      return true;
    default:
      return false;
  }
}

// Types whose arrays Debezium leaves out, whatever the options are.
constexpr bool IsLeftOutElement(uint32_t element_oid) {
  switch (element_oid) {
    case pgoutput::kNameOid:
    case kXmlOid:
    case kPointOid:
    case kMoneyOid:
    case kIntervalOid:
    case kVarbitOid:
    case kRefcursorOid:
      return true;
    default:
      return false;
  }
}

constexpr bool IsGeometricOid(uint32_t type_oid) {
  switch (type_oid) {
    case kPointOid:
    case kLsegOid:
    case kPathOid:
    case kBoxOid:
    case kPolygonOid:
    case kLineOid:
    case kCircleOid:
      return true;
    default:
      return false;
  }
}

}  // namespace walpost::debezium
