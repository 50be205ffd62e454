// Asks the server whether it can compare the values of a column.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"

namespace walpost {

enum class Comparison {
  kEquality,  // is one equal to another?
  kOrder,     // which comes first?
};

// The type of a column of schema.table, as SQL; empty: there is no such column.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadTypeOf(
    Connection& connection, std::string table, std::string column);

// False if the type has no such operator class, as json, xml and point have
// none (a box has =, which compares areas). No right on a table is needed.
boost::asio::awaitable<absl::StatusOr<bool>> CanCompare(Connection& connection,
                                                        std::string type,
                                                        Comparison comparison);

}  // namespace walpost
