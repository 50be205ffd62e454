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

struct RelationSchema {
  uint32_t oid = 0;
  std::string schema;
  std::string name;
  std::vector<ColumnSchema> columns;

  RelationSchema() = default;
  explicit RelationSchema(const Relation& relation);

  // "public.outbox", as people write it.
  std::string QualifiedName() const { return schema + "." + name; }

  std::optional<size_t> FindColumn(std::string_view column) const;

  friend bool operator==(const RelationSchema&,
                         const RelationSchema&) = default;
};

}  // namespace walpost::pgoutput
