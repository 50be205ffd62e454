// The oid of a table, without a right on its schema: to_regclass and ::regclass
// need USAGE on it, which publishing does not.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// SQL expression of the oid of `table` (schema.table); NULL: there is none.
std::string RelationOidSql(Connection& connection, std::string_view table);
// `quote` makes SQL literals.
std::string RelationOidSql(
    const std::function<std::string(std::string_view)>& quote,
    std::string_view table);

// The names of tables as an SQL array; `tables` may be empty.
std::string NamesSql(Connection& connection,
                     std::span<const TableOptions> tables);
// "tables AS MATERIALIZED (...)", for WITH: a row for each of the tables with
// number (its index, from 0), name and relation (its oid; NULL: there is no
// such table). For one statement about all tables, whatever their number.
std::string TablesSql(Connection& connection,
                      std::span<const TableOptions> tables);

}  // namespace walpost
