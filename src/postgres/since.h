// The point in time that an operator names with --since.
#pragma once

#include <string>

#include "postgres/connection.h"

namespace walpost {

// As an SQL expression of type timestamptz: a number and a unit ("1h") are so
// long ago, anything else is a timestamp. What is neither is an error of the
// statement that has it.
std::string SinceSql(Connection& connection, const std::string& since);

}  // namespace walpost
