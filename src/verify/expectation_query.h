// ExpectationQuery: SQL that reads the parts of the record of each row of an
// outbox table.
//
// It does not share the relay's reading of rows: which column is which field is
// decided here, from the same configuration, and their texts come from the
// output functions of their types, not from casts. The topic is made as the
// relay makes it (outbox/topic_template.h), because SQL's lower() and
// collations differ. Columns of the result, in binary form (so text and bytea
// are bytes):
//
//   id, key, value, sequence (all text or bytea), must_be_there (text),
//   row_order and written (text of an integer), came_through and
//   is_of_other_origin (text), then the values of the topic
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "outbox/topic_template.h"

namespace walpost {

struct ColumnType {
  std::string name;
  bool is_bytea = false;
  uint32_t type_oid = 0;  // of a domain: its base type
  // A cast to text is the same as the output function, and faster.
  bool casts_to_output = false;
  bool counts = false;  // identity, or its default is nextval()
  // NULL may stand for its DEFAULT in a record of Debezium.
  bool has_default = false;
};

// How keys and values of rows and records are compared.
enum class ComparedAs { kBytes, kJson };

// The proof that a row was confirmed, and so must be in Kafka.
struct ConfirmedBy {
  enum class Kind {
    kSlot,    // source: wal
    kState,   // only the row itself shows that it was published
    kCursor,  // the row is behind the position of polling.strategy: cursor
  };
  Kind kind = Kind::kSlot;
  std::string name;  // of the slot or the cursor's table
  // kSlot: rows of transactions before this one (an xid8) do not come through
  // the slot: they must be in Kafka, whatever it has confirmed. 0: not known.
  uint64_t streamed_from = 0;
  // Rows of earlier transactions were confirmed by a slot that is lost. 0: not
  // known.
  uint64_t delivered_before = 0;
  // streamed_from of tables that were added later, by name.
  std::map<std::string, uint64_t> added = {};
};

class ExpectationQuery {
 public:
  // `sequence_column` may be empty. kInvalidArgument: the table has no column
  // for the id, or not one with a name from the configuration or the caller;
  // names it and the key to change.
  static absl::StatusOr<ExpectationQuery> Create(
      const TableOptions& table, const RouteOptions& route,
      const std::vector<ColumnType>& columns,
      const std::string& sequence_column, const ConfirmedBy& confirmed_by,
      OriginFilter origin = OriginFilter::kAny,
      ComparedAs compared_as = ComparedAs::kBytes);

  static constexpr int kFirstTopicValue = 9;

  const std::string& sql() const { return sql_; }
  // Selects the values of the topics of the rows, each once.
  const std::string& topics_sql() const { return topics_sql_; }
  // Selects an aggregate of the rows of each topic, and the topic's values.
  // `where` may be empty.
  std::string GroupedSql(const std::string& aggregate,
                         const std::string& where) const;
  // The time that columns.timestamp gives the records, as a timestamptz; empty:
  // they are new when they are sent.
  const std::string& time_sql() const { return time_sql_; }
  const std::string& value_sql() const { return value_sql_; }
  const std::string& key_sql() const { return key_sql_; }
  // Selects those of `ids`, an array as parameter $1, that the table has, and
  // the values of their topics.
  const std::string& lookup_sql() const { return lookup_sql_; }
  // True if the array is of bytea, false if it is of text.
  bool has_bytea_ids() const { return has_bytea_ids_; }
  const TopicTemplate& topic() const { return topic_; }
  // The column that recover and the snapshot sort rows by; empty: none.
  const std::string& row_order() const { return row_order_; }
  // False if the value is made from several columns, or converted to something
  // else (TableOptions::debezium): it is not compared. As JSON a text remains
  // what it is.
  bool knows_value() const { return knows_value_; }
  // Likewise.
  bool knows_key() const { return knows_key_; }
  // False if the record's key has other bytes than the row's.
  bool keeps_bytes_of_key() const { return keeps_bytes_of_key_; }

 private:
  explicit ExpectationQuery(TopicTemplate topic) : topic_(std::move(topic)) {}

  TopicTemplate topic_;
  bool has_bytea_ids_ = false;
  std::string sql_;
  std::string topics_sql_;
  std::string lookup_sql_;
  std::string row_order_;
  std::string time_sql_;
  std::string value_sql_;
  std::string key_sql_;
  std::string topic_values_;
  std::string from_;
  bool knows_value_ = true;
  bool knows_key_ = true;
  bool keeps_bytes_of_key_ = true;
};

// "public.outbox", quoted for SQL.
std::string QuotedName(const std::string& name);
std::string QuotedTableName(const std::string& name);
std::string QuotedLiteral(const std::string& text);

}  // namespace walpost
