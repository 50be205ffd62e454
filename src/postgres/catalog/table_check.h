// Checks an outbox table by the facts in the catalogs. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "outbox/options.h"
#include "postgres/catalog/table_facts.h"

namespace walpost {

struct TableQuestion {
  const TableOptions& table;
  // Columns that the route names.
  const std::vector<std::string>& references;
  std::string partition;  // one of them, by route.partition; or empty
  const TableFacts& facts;
  // The publication, if there is one.
  std::string publication;
  bool publication_exists = false;
  bool published_via_root = false;
  int server_version = 0;
  // The name that was probably meant, if there is no such table.
  std::string similar;
  // order_by names a column that Postgres cannot sort by.
  bool is_unsortable = false;
};

// In the order in which they are to be shown.
Findings CheckTable(const TableQuestion& question);

}  // namespace walpost
