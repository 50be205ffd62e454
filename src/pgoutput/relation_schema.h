// RelationSchema: an owned copy of a Relation message, valid as long as the
// connection. (Views into the stream are valid only as long as the message.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pgoutput/message.h"

namespace walpost::pgoutput {

struct ColumnSchema {
  std::string name;
  uint32_t type_oid = 0;

  friend bool operator==(const ColumnSchema&, const ColumnSchema&) = default;
};

// A column of the table that rows come without.
struct UnsentColumn {
  std::string name;
  std::string why;  // the cause and the remedy: "is ...: ALTER TABLE ..."

  friend bool operator==(const UnsentColumn&, const UnsentColumn&) = default;
};

struct RelationSchema {
  uint32_t oid = 0;
  std::string schema;
  std::string name;
  std::vector<ColumnSchema> columns;
  // As far as the catalog was asked: a Relation message does not say it.
  std::vector<UnsentColumn> unsent;

  RelationSchema() = default;
  explicit RelationSchema(const Relation& relation);

  // "public.outbox", as people write it.
  std::string QualifiedName() const { return schema + "." + name; }

  std::optional<size_t> FindColumn(std::string_view column) const;
  // nullptr: `column` is sent, or the table has no such column.
  const UnsentColumn* FindUnsent(std::string_view column) const;

  friend bool operator==(const RelationSchema&,
                         const RelationSchema&) = default;
};

}  // namespace walpost::pgoutput
