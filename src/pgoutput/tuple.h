// TupleData: the columns of one row, as pgoutput sends them.
//
//   Int16 columns, then per column one of
//     'n'                       NULL
//     'u'                       unchanged TOAST value (never in an INSERT)
//     't' Int32 length, bytes   text
//     'b' Int32 length, bytes   binary
//
// TupleData is a view: the decoder has checked all of it, so reading it cannot
// fail. Valid as long as the message bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_reader.h"

namespace walpost::pgoutput {

enum class ValueKind : uint8_t { kNull, kUnchanged, kText, kBinary };

struct ColumnValue {
  ValueKind kind = ValueKind::kNull;
  std::string_view bytes;  // empty unless kText or kBinary

  bool is_null() const { return kind == ValueKind::kNull; }
};

class TupleData {
 public:
  TupleData() = default;

  // Takes one TupleData off the front of `reader`. False: it is cut short or
  // holds an unknown column kind.
  static bool Read(ByteReader& reader, TupleData& tuple);

  size_t column_count() const { return column_count_; }

  // Calls visit(index, ColumnValue) for every column, in the order of the
  // Relation message.
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    ByteReader reader(columns_);
    for (size_t i = 0; i < column_count_; ++i) visit(i, ReadColumn(reader));
  }

 private:
  static ColumnValue ReadColumn(ByteReader& reader);

  size_t column_count_ = 0;
  std::string_view columns_;
};

inline ColumnValue TupleData::ReadColumn(ByteReader& reader) {
  switch (reader.ReadUint8()) {
    case 't': {
      const uint32_t length = reader.ReadUint32();
      return {ValueKind::kText, reader.ReadBytes(length)};
    }
    case 'b': {
      const uint32_t length = reader.ReadUint32();
      return {ValueKind::kBinary, reader.ReadBytes(length)};
    }
    case 'u':
      return {ValueKind::kUnchanged, {}};
    default:
      return {};
  }
}

}  // namespace walpost::pgoutput
