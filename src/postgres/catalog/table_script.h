// Scripts of sql/ that make a table, for a table of another name.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// `script`, with `table` (schema.table) in the place of `default_table`.
std::string ScriptForTable(std::string_view script,
                           std::string_view default_table,
                           std::string_view table);

// Its command, on one line: without comments that have a line of their own.
std::string OneLine(std::string_view sql);

// Lets a role use it. `privileges`: with commas; `table`: schema.table.
std::string GrantOnTableSql(std::string_view privileges, std::string_view table,
                            std::string_view role);

}  // namespace walpost
