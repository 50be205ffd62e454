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

  // As far as the catalog was asked: a Relation message does not say it, or
  // says it of a domain and not of its base type.
  int32_t type_modifier = -1;  // pg_attribute.atttypmod
  bool is_not_null = false;
  bool is_domain = false;
  std::string default_expression = {};  // pg_get_expr of its DEFAULT
  // Labels of an enum, or of the elements of an array, in order; empty: it is
  // of another type.
  std::vector<std::string> enum_labels = {};
  // Name of its type, or of the one behind a domain; empty: it is built in.
  std::string type_name = {};
  // Place in the primary key, from 1; without one, in the first unique index by
  // name. 0: none.
  uint64_t key_number = 0;
  // The type of an array's elements, also behind a domain; 0: it is no array.
  uint32_t element_oid = 0;
  std::string element_name = {};   // of that type; empty: it is built in
  bool has_enum_elements = false;  // also those of a domain over an enum

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
