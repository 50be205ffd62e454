#include "pgoutput/tuple.h"

namespace walpost::pgoutput {

bool TupleData::Read(ByteReader& reader, TupleData& tuple) {
  tuple.column_count_ = reader.ReadUint16();
  const std::string_view from_first_column = reader.rest();
  for (size_t i = 0; i < tuple.column_count_; ++i) {
    switch (reader.ReadUint8()) {
      case 'n':
      case 'u':
        break;
      case 't':
      case 'b': {
        const uint32_t length = reader.ReadUint32();
        reader.ReadBytes(length);
        break;
      }
      default:
        return false;
    }
    if (reader.failed()) return false;
  }
  if (reader.failed()) return false;
  tuple.columns_ = from_first_column.substr(
      0, from_first_column.size() - reader.rest().size());
  return true;
}

}  // namespace walpost::pgoutput
