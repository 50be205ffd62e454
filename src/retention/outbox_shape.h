// OutboxShape: what there is to prune of one outbox table, from the catalogs.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connection.h"
#include "retention/retention_options.h"

namespace walpost {

struct OutboxShape {
  // A table with rows of its own.
  struct Leaf {
    std::string name;  // as SQL spells it
    uint64_t oid = 0;
    bool is_partition = false;
    // Whether rows are found by their time without reading the whole table; or
    // the table is so small that it does not matter.
    bool is_quick = false;
  };

  std::string table;          // as SQL spells it
  std::string time_column;    // likewise
  bool time_has_zone = true;  // a timestamptz
  // Partitioned by ranges of the time column: whole partitions go.
  bool has_time_partitions = false;
  // Whose partitions go by default one row at a time: the table itself, or its
  // default partition, or all partitions if they are not ranges of time.
  std::vector<Leaf> leaves;
  // Partitions that lie before the limit as a whole, oldest first.
  std::vector<Leaf> past;
  // Makes partitions: <table>_add_partitions(integer), where there is one.
  std::string add_partitions;
};

// What makes it quick.
std::string MissingIndexSql(const OutboxShape& shape,
                            const OutboxShape::Leaf& leaf);

// `limit` is a timestamp as the server printed it. kFailedPrecondition: there
// is no such table, or nothing in it that tells the age of a row; names the
// remedy.
boost::asio::awaitable<absl::StatusOr<OutboxShape>> ReadOutboxShape(
    Connection& connection, TableOptions table, SentProof proof,
    std::string limit);

}  // namespace walpost
