// A table and its rows, decoded from hand-built messages.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pgoutput/decoder.h"
#include "pgoutput/relation_schema.h"
#include "support/message_bytes.h"

namespace walpost::testing {

inline pgoutput::RelationSchema MakeTable(
    std::string_view schema, std::string_view name,
    const std::vector<ColumnSpec>& columns) {
  const std::string bytes = RelationMessage(16384, schema, name, columns);
  return pgoutput::RelationSchema(
      std::get<pgoutput::Relation>(*pgoutput::Decode(bytes)));
}

// A row together with the bytes that it is a view into.
class OwnedRow {
 public:
  explicit OwnedRow(const Cells& cells) : bytes_(InsertMessage(16384, cells)) {}
  OwnedRow(const OwnedRow&) = delete;
  OwnedRow& operator=(const OwnedRow&) = delete;

  pgoutput::TupleData row() const {
    return std::get<pgoutput::Insert>(*pgoutput::Decode(bytes_)).row;
  }

 private:
  std::string bytes_;
};

}  // namespace walpost::testing
