// The oid of a table, without a right on its schema: to_regclass and ::regclass
// need USAGE on it, which publishing does not.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "postgres/connect/connection.h"

namespace walpost {

// SQL expression of the oid of `table` (schema.table); NULL: there is none.
std::string RelationOidSql(Connection& connection, std::string_view table);
// `quote` makes SQL literals.
std::string RelationOidSql(
    const std::function<std::string(std::string_view)>& quote,
    std::string_view table);

}  // namespace walpost
