#include "backfill/row_content.h"

#include <cstdint>
#include <string>

namespace walpost {
namespace {

// FNV-1a.
constexpr uint64_t kOffset = 0xCBF29CE484222325u;
constexpr uint64_t kPrime = 0x100000001B3u;

}  // namespace

ScanCursor::Content ContentOf(const pgoutput::TupleData& row) {
  uint64_t hash = kOffset;
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * kPrime; };
  row.ForEach([&add](size_t, const pgoutput::ColumnValue& value) {
    for (const char byte : value.bytes) add(static_cast<uint8_t>(byte));
    add(value.is_null() ? 1 : 0);
    for (size_t size = value.bytes.size(); size > 0; size >>= 8) {
      add(static_cast<uint8_t>(size));
    }
  });
  return hash;
}

ScanCursor::Key KeyOf(const pgoutput::TupleData& row,
                      const std::vector<size_t>& indexes) {
  ScanCursor::Key key(indexes.size());
  row.ForEach([&](size_t index, const pgoutput::ColumnValue& value) {
    for (size_t i = 0; i < indexes.size(); ++i) {
      if (indexes[i] == index && !value.is_null()) {
        key[i] = std::string(value.bytes);
      }
    }
  });
  return key;
}

}  // namespace walpost
