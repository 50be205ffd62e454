// Rows read from a table, in the format of pgoutput, so that everything behind
// works as for the WAL.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "pgoutput/relation_schema.h"
#include "pgoutput/tuple.h"
#include "postgres/connect/connection.h"

namespace walpost {

// Maximum characters in a column of schema.table, for varchar(n); 0: unlimited,
// or there is no such column.
boost::asio::awaitable<absl::StatusOr<size_t>> ReadLongestText(
    Connection& connection, std::string table, std::string column);

// "a", "b": the schema's columns for a SELECT, each after `prefix`.
std::string ColumnList(const pgoutput::RelationSchema& schema,
                       std::string_view prefix = "");

// Turns rows of ColumnList into tuples.
class RowTuple {
 public:
  // `row`: one row. Valid until the next call, and as long as `row`.
  const pgoutput::TupleData& Read(const QueryRows& row, size_t columns);

 private:
  std::string bytes_;
  pgoutput::TupleData tuple_;
};

}  // namespace walpost
