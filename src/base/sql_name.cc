#include "base/sql_name.h"

namespace walpost {
namespace {

std::string Quote(std::string_view text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote) quoted += quote;
    quoted += c;
  }
  return quoted + quote;
}

}  // namespace

std::string QuoteName(std::string_view name) { return Quote(name, '"'); }

std::string QuoteText(std::string_view text) { return Quote(text, '\''); }

std::string_view SchemaInSql(std::string_view table) {
  bool is_quoted = false;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] == '"') is_quoted = !is_quoted;
    if (table[i] == '.' && !is_quoted) return table.substr(0, i);
  }
  return {};
}

}  // namespace walpost
