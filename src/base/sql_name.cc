#include "base/sql_name.h"

namespace walpost {

std::string QuoteName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string_view SchemaInSql(std::string_view table) {
  bool is_quoted = false;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] == '"') is_quoted = !is_quoted;
    if (table[i] == '.' && !is_quoted) return table.substr(0, i);
  }
  return {};
}

}  // namespace walpost
