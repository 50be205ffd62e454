#include "postgres/catalog/table_script.h"

#include <algorithm>

#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

std::string ScriptForTable(std::string_view script,
                           std::string_view default_table,
                           std::string_view table) {
  const std::string quoted =
      table == default_table ? std::string(table) : QuoteQualifiedName(table);
  std::string sql(script);
  for (size_t at = sql.find(default_table); at != std::string::npos;
       at = sql.find(default_table, at + quoted.size())) {
    sql.replace(at, default_table.size(), quoted);
  }
  return sql;
}

std::string OneLine(std::string_view sql) {
  std::string line;
  while (!sql.empty()) {
    std::string_view next = sql.substr(0, sql.find('\n'));
    sql.remove_prefix(std::min(next.size() + 1, sql.size()));
    next.remove_prefix(std::min(next.find_first_not_of(' '), next.size()));
    if (next.empty() || next.starts_with("--")) continue;
    if (!line.empty() && !line.ends_with('(') && !next.starts_with(')')) {
      line += ' ';
    }
    line += next;
  }
  return line;
}

std::string GrantOnTableSql(std::string_view privileges, std::string_view table,
                            std::string_view role) {
  return fmt::format(
      "GRANT USAGE ON SCHEMA {0} TO {1}; GRANT {2} ON {3} TO {1};",
      QuoteName(table.substr(0, table.find('.'))), QuoteName(role), privileges,
      QuoteQualifiedName(table));
}

}  // namespace walpost
