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

// The columns of schema.table that every way to Kafka has: all but virtual
// generated ones, which are in no WAL, and are among the unsent.
//
// kFailedPrecondition: there is no such table.
boost::asio::awaitable<absl::StatusOr<pgoutput::RelationSchema>>
ReadTableSchema(Connection& connection, std::string table);

// The columns of schema.table that the publication sends, and why it does not
// send the others.
struct PublishedColumns {
  std::string publication;
  // It has a column list for the table.
  bool has_list = false;
  std::string names;   // as pg_publication_tables.attnames; empty: not known
  std::string filter;  // of rows; empty: none
};
boost::asio::awaitable<absl::StatusOr<pgoutput::RelationSchema>>
ReadPublishedSchema(Connection& connection, std::string table,
                    PublishedColumns published);

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
