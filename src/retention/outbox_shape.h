// OutboxShape: structure of one outbox table for pruning, from the catalogs.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"
#include "retention/retention_options.h"

namespace walpost {

struct OutboxShape {
  // A table with rows of its own.
  struct Leaf {
    std::string name;  // quoted for SQL
    uint64_t oid = 0;
    bool is_partition = false;
    // Rows are found by their time without reading the whole table, or the
    // table is so small that it does not matter.
    bool is_quick = false;
  };

  std::string table;          // quoted for SQL
  std::string time_column;    // likewise
  bool time_has_zone = true;  // a timestamptz
  // Partitioned by ranges of the time column: whole partitions are dropped.
  bool has_time_partitions = false;
  // Tables whose rows are deleted one by one: the table itself, or its default
  // partition, or all partitions if they are not ranges of time.
  std::vector<Leaf> leaves;
  // Partitions that lie completely before the limit, oldest first.
  std::vector<Leaf> past;
  // The function <table>_add_partitions(integer), if it exists.
  std::string add_partitions;
};

// SQL for the index that makes a leaf quick.
std::string MissingIndexSql(const OutboxShape& shape,
                            const OutboxShape::Leaf& leaf);

// `limit` is a timestamp as the server printed it. kFailedPrecondition: the
// table does not exist, or no column gives the age of a row; names the remedy.
boost::asio::awaitable<absl::StatusOr<OutboxShape>> ReadOutboxShape(
    Connection& connection, TableOptions table, SentProof proof,
    std::string limit);

}  // namespace walpost
