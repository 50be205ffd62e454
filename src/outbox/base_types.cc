#include "outbox/base_types.h"

#include <algorithm>

#include "fmt/format.h"
#include "pgoutput/type_oid.h"

namespace walpost {

std::optional<uint32_t> BaseTypes::Of(uint32_t oid) const {
  if (IsBuiltIn(oid)) return oid;
  const auto found = bases_.find(oid);
  if (found != bases_.end()) return found->second;
  if (is_complete_) return kDroppedTypeOid;
  return std::nullopt;
}

const pgoutput::ColumnSchema* BaseTypes::ColumnOf(size_t table,
                                                  std::string_view name) const {
  if (table >= columns_.size()) return nullptr;
  const auto found =
      std::ranges::find(columns_[table], name, &pgoutput::ColumnSchema::name);
  return found == columns_[table].end() ? nullptr : &*found;
}

std::string BaseTypeSql(std::string_view oid) {
  return fmt::format(
      "(WITH RECURSIVE chain AS (SELECT t.oid, t.typtype, t.typcategory, "
      "t.typbasetype FROM pg_catalog.pg_type t WHERE t.oid = {} UNION ALL "
      "SELECT t.oid, t.typtype, t.typcategory, t.typbasetype FROM chain c JOIN "
      "pg_catalog.pg_type t ON t.oid = c.typbasetype WHERE c.typtype = 'd') "
      "SELECT CASE WHEN typcategory = 'S' AND oid >= 16384 THEN {} ELSE oid "
      "END FROM chain WHERE typtype <> 'd')",
      oid, pgoutput::kTextOid);
}

// concat() calls output functions. A composite value can be IS NULL without
// being null.
std::string OutputTextSql(std::string_view column) {
  return fmt::format(
      "CASE WHEN pg_catalog.num_nulls({0}) = 0 THEN pg_catalog.concat({0}) "
      "COLLATE \"C\" END",
      column);
}

}  // namespace walpost
