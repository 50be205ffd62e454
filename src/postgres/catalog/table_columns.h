// TableColumns: the columns of outbox tables, from the catalog, and which of
// them a publication sends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "pgoutput/relation_schema.h"
#include "postgres/connect/connection.h"

namespace walpost {

struct TableColumn {
  enum class Generated { kNot, kStored, kVirtual };

  pgoutput::ColumnSchema schema;  // with the base type
  std::string type;               // as SQL
  Generated generated = Generated::kNot;
  std::string expression;  // of one that is generated
};
using TableColumns = std::vector<TableColumn>;

// SQL of the columns of the rows in "tables" (TablesSql), in their order.
std::string ColumnsSql();
// The columns of each table, by its index; none: there is no such table. One
// statement for all. `tables` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<std::vector<TableColumns>>> ReadColumns(
    Connection& connection, std::span<const TableOptions> tables);

// The columns of schema.table that every way to Kafka has: all but virtual
// generated ones, which are in no WAL, and are among the unsent.
//
// kFailedPrecondition: there is no such table.
boost::asio::awaitable<absl::StatusOr<pgoutput::RelationSchema>>
ReadTableSchema(Connection& connection, std::string table);

// The elements of a name[] in text form.
std::vector<std::string> ParseNames(std::string_view array);

struct PublishedColumns {
  std::string publication;
  // It has a column list for the table.
  bool has_list = false;
  // pg_publication_tables.attnames; nullopt: not known, so all.
  std::optional<std::vector<std::string>> names;
  std::string filter;  // of rows; empty: none
};

// The columns of schema.table that the publication sends, and why it does not
// send the others.
pgoutput::RelationSchema PublishedSchema(const std::string& table,
                                         const TableColumns& columns,
                                         const PublishedColumns& published,
                                         int server_version);

}  // namespace walpost
