// SQL of the checkpoint table (sql/checkpoint.sql), and its rows.
//
// `table` is schema.table as configured; names are quoted here. `quote` makes a
// text an SQL literal: Connection::Literal.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"

namespace walpost {

using QuoteLiteral = std::function<std::string(std::string_view)>;

// sql/checkpoint.sql for this table, unchanged, with its comments.
std::string CheckpointTableScript(std::string_view table);

// Only its command, on one line.
std::string CreateCheckpointTableSql(std::string_view table);

// The last column that AlterCheckpointTableSql adds: a table with it has all of
// them.
inline constexpr char kNewestCheckpointColumn[] = "kafka_topics";

// Adds the columns that tables of older releases lack.
std::string AlterCheckpointTableSql(std::string_view table);

// For an operator, also on one line: creates the table if it is missing, and
// lets `user` read and write it.
std::string GrantCheckpointTableSql(std::string_view table,
                                    std::string_view user);

// Selects the row of a slot, with the columns of CheckpointRow.
std::string LoadCheckpointSql(std::string_view table, std::string_view slot,
                              const QuoteLiteral& quote);

// Inserts the row, or overwrites it unless it is later: it has a later
// timeline, else a younger slot, else a later position (in another numbering: a
// later confirmed LSN). A row of another cluster was copied here, and is
// overwritten. Returns one row if it has written.
std::string SaveCheckpointSql(std::string_view table,
                              const Checkpoint& checkpoint,
                              const QuoteLiteral& quote);

// Row of LoadCheckpointSql, as text.
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
  std::string server_started_at;  // microseconds since 1970, like the next
  std::string written_at;
  std::string commit_xid;
  std::string commit_time;  // microseconds since 1970
  std::string coverage;
  std::string kafka_cluster;
  std::string gap;
  std::string kafka_topics;
};

// kDataLoss: a value that walpost did not write.
absl::StatusOr<Checkpoint> ParseCheckpointRow(const CheckpointRow& row);

}  // namespace walpost
