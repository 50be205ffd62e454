#include "outbox/field_column.h"

#include <span>

#include "outbox/fields.h"

namespace walpost {

std::optional<std::string> ColumnOfField(const TableOptions& table,
                                         const pgoutput::RelationSchema& schema,
                                         std::string_view field) {
  const FieldSource* source = &table.columns.timestamp;
  std::span<const std::string_view> usual;
  const size_t index = FindField(field);
  if (index < kFields.size()) {
    source = &(table.columns.*kFields[index].source);
    usual = kFields[index].usual_names;
  }
  if (source->kind == FieldSource::Kind::kColumn &&
      schema.FindColumn(source->text)) {
    return source->text;
  }
  if (source->kind == FieldSource::Kind::kUsual) {
    for (const std::string_view name : usual) {
      if (schema.FindColumn(name)) return std::string(name);
    }
  }
  return std::nullopt;
}

}  // namespace walpost
