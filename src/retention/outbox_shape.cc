#include "retention/outbox_shape.h"

#include "absl/strings/str_join.h"
#include "base/finding_id.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Up to this size a table without an index is read whole for each batch.
constexpr size_t kSmallTableBytes = size_t{64} << 20;

std::string ShapeSql(const std::string& table_literal,
                     const std::string& function_literal,
                     const std::string& column_literals) {
  return fmt::format(
      "SELECT c.relkind = 'p', c.oid::regclass::text, "
      "(SELECT quote_ident(a.attname) FROM pg_partitioned_table p "
      "JOIN pg_attribute a ON a.attrelid = p.partrelid "
      "AND a.attnum = p.partattrs[0] WHERE p.partrelid = c.oid "
      "AND p.partstrat = 'r' AND p.partnatts = 1 AND a.atttypid IN "
      "('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)), "
      "(SELECT quote_ident(a.attname) FROM pg_attribute a "
      "WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
      "AND a.attname IN ({2}) "
      "ORDER BY array_position(ARRAY[{2}]::name[], a.attname) LIMIT 1), "
      "to_regprocedure({1})::regproc::text "
      "FROM pg_class c WHERE c.oid = to_regclass({0})",
      table_literal, function_literal, column_literals);
}

enum class Kind { kPlain, kPartitioned, kTimePartitions };

// Selects each partition (of the first level, if those are ranges of time) or
// the table itself, with the upper end of its range.
std::string LeavesSql(const std::string& table, const std::string& column,
                      Kind kind, SentProof proof, const std::string& limit) {
  // With a state, a partial index on published rows is suitable.
  const char* usable =
      proof == SentProof::kState ? "true" : "i.indpred IS NULL";
  std::string oids = fmt::format("SELECT to_regclass({})", table);
  std::string end = "NULL::timestamptz";
  if (kind == Kind::kPartitioned) {
    oids = fmt::format("SELECT relid FROM pg_partition_tree({}) WHERE isleaf",
                       table);
  } else if (kind == Kind::kTimePartitions) {
    oids = fmt::format(
        "SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass({})",
        table);
    // FOR VALUES FROM ('2026-01-30 ...') TO ('2026-01-31 ...')
    end =
        "(regexp_match(pg_get_expr(c.relpartbound, c.oid), "
        "$$ TO \\('([^']+)'\\)$$))[1]::timestamptz";
  }
  return fmt::format(
      "SELECT c.oid::regclass::text, "
      "pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', "
      "{0} <= '{1}'::timestamptz, "
      "pg_relation_size(c.oid) <= {2} OR EXISTS (SELECT FROM pg_index i "
      "JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum = 1 "
      "WHERE i.indrelid = c.oid AND i.indisvalid AND {5} "
      "AND quote_ident(a.attname) = {3}), "
      "c.oid, c.relispartition, EXISTS (SELECT FROM pg_attribute a "
      "WHERE a.attrelid = c.oid AND quote_ident(a.attname) = {3} "
      "AND a.atttypid = 'timestamptz'::regtype) "
      "FROM pg_class c WHERE c.oid IN ({4}) ORDER BY {0}, 1",
      end, limit, kSmallTableBytes, column, oids, usable);
}

absl::Status NoTimeColumn(const TableOptions& table) {
  return absl::FailedPreconditionError(fmt::format(
      "table {} has no column that gives the age of a row: name it in "
      "outbox.tables[].columns.timestamp (created_at needs no naming)",
      table.name));
}

}  // namespace

std::string MissingIndexSql(const OutboxShape& shape,
                            const OutboxShape::Leaf& leaf) {
  return fmt::format("CREATE INDEX CONCURRENTLY ON {} ({});", leaf.name,
                     shape.time_column);
}

asio::awaitable<absl::StatusOr<OutboxShape>> ReadOutboxShape(
    Connection& connection, TableOptions table, SentProof proof,
    std::string limit) {
  const std::string quoted = QuoteQualifiedName(table.name);
  const std::string table_literal = connection.Literal(quoted);
  const std::string function_literal = connection.Literal(
      QuoteQualifiedName(table.name + "_add_partitions") + "(integer)");
  std::vector<std::string> columns;
  if (proof == SentProof::kState && !table.state.published_at.empty()) {
    columns.push_back(connection.Literal(table.state.published_at));
  }
  if (table.columns.timestamp.kind == FieldSource::Kind::kColumn) {
    columns.push_back(connection.Literal(table.columns.timestamp.text));
  }
  columns.push_back(connection.Literal("created_at"));
  const std::string shape_sql =
      ShapeSql(table_literal, function_literal, absl::StrJoin(columns, ", "));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection.Execute(shape_sql));
  if (rows.size() == 0) {
    const absl::Status missing = absl::FailedPreconditionError(fmt::format(
        "table {} does not exist: correct outbox.tables", table.name));
    co_return WithFindingId(missing, FindingId(kFindingTableMissing));
  }
  OutboxShape shape;
  shape.table = quoted;
  Kind kind = rows.Bool(0, 0) ? Kind::kPartitioned : Kind::kPlain;
  if (rows.Get(0, 2)) kind = Kind::kTimePartitions;
  shape.has_time_partitions = kind == Kind::kTimePartitions;
  shape.time_column = rows.Text(0, shape.has_time_partitions ? 2 : 3);
  if (shape.has_time_partitions) shape.add_partitions = rows.Text(0, 4);
  if (shape.time_column.empty()) co_return NoTimeColumn(table);
  const std::string column_literal = connection.Literal(shape.time_column);
  const std::string leaves_sql =
      LeavesSql(table_literal, column_literal, kind, proof, limit);
  absl::StatusOr<QueryRows> leaves = co_await connection.Execute(leaves_sql);
  if (!leaves.ok()) co_return leaves.status();
  for (size_t i = 0; i < leaves->size(); ++i) {
    const bool is_default = leaves->Bool(i, 1);
    OutboxShape::Leaf leaf;
    leaf.name = leaves->Text(i, 0);
    leaf.is_quick = leaves->Bool(i, 3);
    leaf.oid = leaves->Unsigned(i, 4);
    leaf.is_partition = leaves->Bool(i, 5);
    shape.time_has_zone = leaves->Bool(i, 6);
    if (shape.has_time_partitions && leaves->Bool(i, 2)) {
      shape.past.push_back(std::move(leaf));
    } else if (is_default || !shape.has_time_partitions) {
      shape.leaves.push_back(std::move(leaf));
    }
  }
  co_return shape;
}

}  // namespace walpost
