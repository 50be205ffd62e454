// The SQL of the checkpoint table (sql/checkpoint.sql), and its rows.
//
// `table` is schema.table as configured; names are quoted here. `quote` makes
// an SQL literal of a text: Connection::Literal.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "delivery/checkpoint.h"

namespace walpost {

using QuoteLiteral = std::function<std::string(std::string_view)>;

// sql/checkpoint.sql for this table, as it stands, with its comments.
std::string CheckpointTableScript(std::string_view table);

// Its command alone, on one line.
std::string CreateCheckpointTableSql(std::string_view table);

// The last of the columns that AlterCheckpointTableSql adds: a table that has
// it has them all.
inline constexpr char kNewestCheckpointColumn[] = "kafka_topics";

// Adds the columns that tables of older releases lack.
std::string AlterCheckpointTableSql(std::string_view table);

// For an operator, likewise on one line: makes the table where it is missing,
// and lets `user` read and write it.
std::string GrantCheckpointTableSql(std::string_view table,
                                    std::string_view user);

// The row of a slot, in the columns of CheckpointRow.
std::string LoadCheckpointSql(std::string_view table, std::string_view slot,
                              const QuoteLiteral& quote);

// Inserts the row, or overwrites it unless it is a later one: of a later
// timeline, else of a younger slot, else further on (of another numbering:
// confirmed further on). A row of another cluster was copied here, and is
// overwritten. Gives one row when it has written.
std::string SaveCheckpointSql(std::string_view table,
                              const Checkpoint& checkpoint,
                              const QuoteLiteral& quote);

// What LoadCheckpointSql selects, as text.
struct CheckpointRow {
  std::string slot;
  std::string system_identifier;
  std::string timeline;
  std::string birth;
  std::string confirmed;
  std::string commit_lsn;
  std::string ordinal;
  std::string numbering;
  std::string transaction_horizon;
  std::string server_started_at;  // microseconds since 1970, and the next
  std::string written_at;
  std::string commit_xid;
  std::string commit_time;  // microseconds since 1970
  std::string coverage;
  std::string kafka_cluster;
  std::string gap;
  std::string kafka_topics;
};

// kDataLoss: a value that walpost never wrote.
absl::StatusOr<Checkpoint> ParseCheckpointRow(const CheckpointRow& row);

}  // namespace walpost
