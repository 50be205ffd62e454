#include "checkpoint/settled_table.h"

#include <limits>

namespace walpost {
namespace {

constexpr Lsn kAnywhere(std::numeric_limits<uint64_t>::max());

Coverage Only(const Coverage::Table& table) { return Coverage{"", {table}}; }

void Remove(std::vector<Coverage::Table>& tables,
            const Coverage::Table& table) {
  const Coverage wanted = Only(table);
  std::erase_if(tables, [&wanted](const Coverage::Table& other) {
    return AddedTables(Only(other), wanted).empty();
  });
}

}  // namespace

bool IsUnsettled(const std::string& coverage, const Coverage::Table& table) {
  const Coverage known = Coverage::Parse(coverage);
  const Coverage now = Only(table);
  return !AddedTables(known, now).empty() ||
         LeavesOutMore(now.ToString(), coverage) ||
         !PassedTables(known, now, kAnywhere).empty();
}

std::string Settle(const std::string& coverage, const SettledTable& settled) {
  Coverage known = Coverage::Parse(coverage);
  Remove(known.tables, settled.table);
  known.tables.push_back(settled.table);
  for (const uint32_t oid : TableOids(Only(settled.table))) {
    known.passed_over.Remove(oid);
  }
  return known.ToString();
}

BirthRecord Settle(BirthRecord record, const SettledTable& settled) {
  Coverage born = Coverage::Parse(record.coverage);
  Remove(born.tables, settled.table);
  for (const uint32_t oid : TableOids(Only(settled.table))) {
    born.passed_over.Remove(oid);
  }
  record.coverage = born.ToString();
  if (!record.added) record.added.emplace();
  std::erase_if(*record.added, [&settled](const AddedTable& other) {
    const Coverage known = Only({other.name, other.definition});
    return AddedTables(known, Only(settled.table)).empty();
  });
  record.added->push_back({settled.table.name, settled.table.definition,
                           settled.published_from, settled.at,
                           settled.published_since});
  return record;
}

}  // namespace walpost
