// TableScan: reads the rows of one outbox table, in order.
//
// Reads in the open transaction of its connection, with a cursor and in
// portions of a few MiB whatever the row size. If the rows of a FETCH are
// larger than those before, it is read in several portions, and the server
// waits between them. The rows have the format of pgoutput, so that everything
// behind works as for the WAL: columns as the server renders them to text.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "outbox/row_origin.h"
#include "pgoutput/relation_schema.h"
#include "pgoutput/tuple.h"
#include "postgres/catalog/table_rows.h"
#include "postgres/connect/connection.h"
#include "postgres/tables/fetch_sizer.h"

namespace walpost {

// For the connection of a scan: counting or sorting a large table takes long.
inline constexpr std::chrono::hours kScanStatementLimit{1};

// Selection and order of rows. Names are fields of the outbox; their columns
// are found as in the mapping.
struct TableFilter {
  std::string since;             // see since.h; compared with field `timestamp`
  std::vector<std::string> ids;  // values of field `id`; empty: any
  // True if the ids are of several tables. An id that is not a value of this
  // table's column is then of another table.
  bool has_ids_of_others = false;
  std::string aggregate_id;  // empty: any
  std::string where;         // an SQL condition
  // Only rows of this transaction (an xid8) and later ones, in tables that say
  // which one inserted a row; 0: any.
  uint64_t from_transaction = 0;
  std::string order_by;  // a column; empty: the closest to commit order
  // Reads the origin of each row; does not select rows.
  bool with_origin = false;
};

class TableScan {
 public:
  // `connection` outlives this object.
  TableScan(Connection& connection, TableOptions table, TableFilter filter);

  // kFailedPrecondition: no such table, no column for the filter or the order
  // (outbox/row_order.h), or row-level security hides rows; names the remedy.
  boost::asio::awaitable<absl::Status> Open();

  const pgoutput::RelationSchema& schema() const { return schema_; }

  // Columns of the order, most significant first; after Open.
  const std::vector<std::string>& order_columns() const {
    return order_columns_;
  }

  // Reads the next portion; 0: the end.
  boost::asio::awaitable<absl::StatusOr<size_t>> Fetch();

  // A row of the portion; valid until the next call of Row or Fetch.
  const pgoutput::TupleData& Row(size_t index);
  // With TableFilter::with_origin.
  RowOrigin Origin(size_t index) const;

  boost::asio::awaitable<absl::Status> Close();

  // Number of rows that pass the filter.
  boost::asio::awaitable<absl::StatusOr<uint64_t>> Count();
  // True if the origin of one of them is not known. Reads all of them.
  boost::asio::awaitable<absl::StatusOr<bool>> HasUnknownOrigin();

 private:
  // Column of a field, quoted for SQL.
  absl::StatusOr<std::string> ColumnOf(std::string_view field,
                                       std::string_view wanted_for) const;
  absl::Status MakeConditions();
  absl::StatusOr<std::string> IdCondition() const;
  // `column`, quoted, is sent as one of the literals.
  std::string IsOneOf(const std::string& column, uint32_t type_oid,
                      const std::string& literals) const;
  boost::asio::awaitable<absl::Status> MakeOrder();
  // Reads rows of the current FETCH until they make a portion, or it ends.
  boost::asio::awaitable<absl::Status> ReadPortion();
  boost::asio::awaitable<absl::StatusOr<QueryRows>> Execute(std::string sql);
  absl::StatusOr<std::string> TimeColumn() const;
  absl::StatusOr<std::string> Since() const;
  absl::StatusOr<std::string> FromTransaction() const;

  static constexpr size_t kMaxRows = 2'000;

  Connection& connection_;
  TableOptions table_;
  TableFilter filter_;
  pgoutput::RelationSchema schema_;
  std::string conditions_;  // " WHERE ..." or empty
  std::string order_;
  std::vector<std::string> order_columns_;
  FetchSizer fetch_sizer_{kMaxRows};
  std::vector<QueryRows> rows_;  // one row each
  bool is_fetching_ = false;
  RowTuple tuple_;
};

}  // namespace walpost
