// BaseTypes: the built-in type behind each user-defined one, because a domain's
// values have the text form of its base type, and the stream names only the
// domain; and what else the catalog says of the columns of each table, if
// records show it (records.profile).
//
// A domain, also over domains, stands for its base type; a type of the string
// category (citext) for text; everything else for itself. Types may be made
// while a stream runs: one that is not listed is asked for once, and has been
// dropped if it is still not listed then. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "pgoutput/relation_schema.h"

namespace walpost {

// A type that has been dropped: nobody knows its text form any more.
inline constexpr uint32_t kDroppedTypeOid = 0;

// True if the server's catalog was initialised with the type: it is no domain
// over another one that our code knows.
constexpr bool IsBuiltIn(uint32_t type_oid) { return type_oid < 16384; }

class BaseTypes {
 public:
  void Add(uint32_t oid, uint32_t base) { bases_.emplace(oid, base); }
  // Types that are not listed have been dropped.
  void Complete() { is_complete_ = true; }
  bool is_complete() const { return is_complete_; }
  // The columns of each table, in the order of OutboxOptions::tables.
  void SetColumns(std::vector<std::vector<pgoutput::ColumnSchema>> columns) {
    columns_ = std::move(columns);
  }
  const std::vector<std::vector<pgoutput::ColumnSchema>>& columns() const {
    return columns_;
  }

  // nullopt: not listed.
  std::optional<uint32_t> Of(uint32_t oid) const;
  // The column of that name; nullptr: not listed.
  const pgoutput::ColumnSchema* ColumnOf(size_t table,
                                         std::string_view name) const;

 private:
  absl::flat_hash_map<uint32_t, uint32_t> bases_;
  std::vector<std::vector<pgoutput::ColumnSchema>> columns_;
  bool is_complete_ = false;
};

// SQL expression of the oid that Of would return for the type `oid`, which is
// also an SQL expression.
std::string BaseTypeSql(std::string_view oid);

// SQL expression of the text that the stream sends for `column` (quoted), with
// the collation of bytes: what the output function of its type makes. A cast to
// text makes another one of boolean, char(n), inet and xml.
std::string OutputTextSql(std::string_view column);

}  // namespace walpost
