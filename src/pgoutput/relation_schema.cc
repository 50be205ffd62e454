#include "pgoutput/relation_schema.h"

namespace walpost::pgoutput {

RelationSchema::RelationSchema(const Relation& relation)
    : oid(relation.oid),
      schema(relation.schema.empty() ? "pg_catalog" : relation.schema),
      name(relation.name) {
  columns.reserve(relation.column_count);
  relation.ForEachColumn([this](const Column& column) {
    ColumnSchema& described = columns.emplace_back();
    described.name = column.name;
    described.type_oid = column.type_oid;
  });
}

std::optional<size_t> RelationSchema::FindColumn(
    std::string_view column) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return i;
  }
  return std::nullopt;
}

const UnsentColumn* RelationSchema::FindUnsent(std::string_view column) const {
  for (const UnsentColumn& other : unsent) {
    if (other.name == column) return &other;
  }
  return nullptr;
}

}  // namespace walpost::pgoutput
