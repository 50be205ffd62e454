// The point in time of --since.
#pragma once

#include <string>

#include "postgres/connect/connection.h"

namespace walpost {

// As an SQL expression of type timestamptz: a number and a unit ("1h") are that
// long ago, anything else is a timestamp. Invalid text is an error of the
// statement that contains it.
std::string SinceSql(Connection& connection, const std::string& since);

}  // namespace walpost
