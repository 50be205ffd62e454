// ExpectationQuery: the SQL that makes Postgres say what record each row of an
// outbox table should have become.
//
// On purpose it shares nothing with the relay: topic, key and value are
// expressions that the server computes, from the same configuration. Columns of
// the result, in binary form (so text is its bytes, and bytea, too):
//
//   id, topic, key, value, sequence (all text or bytea), must_be_there (text),
//   row_order (text of an integer)
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"

namespace walpost {

struct ColumnType {
  std::string name;
  bool is_bytea = false;
  uint32_t type_oid = 0;
  bool counts = false;  // identity, or its default is nextval()
};

// What tells of a row that it was confirmed, and so must be in Kafka.
struct ConfirmedBy {
  enum class Kind {
    kSlot,    // source: wal
    kState,   // the row itself says that it was published, if at all
    kCursor,  // the row is behind the position of polling.strategy: cursor
  };
  Kind kind = Kind::kSlot;
  std::string name;  // of the slot, or of the cursor's table
  // kSlot: rows of transactions before this one (an xid8) do not come through
  // the slot: whatever it has confirmed, they must be there. 0: not known.
  uint64_t streamed_from = 0;
};

class ExpectationQuery {
 public:
  // `sequence_column` may be empty. kInvalidArgument: the table has no column
  // for the id, or none of a name that the configuration or the caller gives;
  // names it and the key to change.
  static absl::StatusOr<ExpectationQuery> Create(
      const TableOptions& table, const RouteOptions& route,
      const std::vector<ColumnType>& columns,
      const std::string& sequence_column, const ConfirmedBy& confirmed_by);

  const std::string& sql() const { return sql_; }
  // The topics that the rows lead to, each once.
  const std::string& topics_sql() const { return topics_sql_; }
  // Of `ids`, a text[] as parameter $1, those that the table has, and their
  // topics.
  const std::string& lookup_sql() const { return lookup_sql_; }
  // The column by which recover and the snapshot sort rows; empty: none does.
  const std::string& row_order() const { return row_order_; }
  // False for a value that is made of several columns: not compared.
  bool knows_value() const { return knows_value_; }

 private:
  std::string sql_;
  std::string topics_sql_;
  std::string lookup_sql_;
  std::string row_order_;
  bool knows_value_ = true;
};

// "public.outbox" as SQL spells it.
std::string QuotedTableName(const std::string& name);
std::string QuotedLiteral(const std::string& text);

}  // namespace walpost
