#include "postgres/catalog/partition_monitor.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/existing_rows.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Selects each leaf below the tables, the youngest of the links that lead to
// it, and whether the leaf was created in the transaction of that link.
std::string LeavesSql(const std::string& tables) {
  return fmt::format(
      "WITH {} SELECT leaf.oid, pg_catalog.concat_ws('.', schema.nspname, "
      "leaf.relname), link.xmin, link.cmin, link.xmin = made.xmin "
      "FROM tables outbox JOIN pg_catalog.pg_class root ON root.oid = "
      "outbox.relation AND root.relkind = 'p', "
      "pg_catalog.pg_partition_tree(outbox.relation) tree "
      "JOIN pg_catalog.pg_class leaf ON leaf.oid = tree.relid "
      "JOIN pg_catalog.pg_namespace schema ON schema.oid = leaf.relnamespace "
      "JOIN pg_catalog.pg_type made ON made.oid = leaf.reltype "
      "CROSS JOIN LATERAL (SELECT i.xmin, i.cmin FROM pg_catalog.pg_inherits i "
      "WHERE i.inhrelid IN (SELECT "
      "pg_catalog.pg_partition_ancestors(leaf.oid)) "
      "ORDER BY pg_catalog.age(i.xmin) LIMIT 1) link "
      "WHERE leaf.relkind = 'r' AND tree.parentrelid IS NOT NULL",
      tables);
}

Finding Describe(const ExistingRows& rows) {
  Finding finding{Severity::kWarning,
                  FindingId(rows.count ? "partition_rows_unpublished"
                                       : "partition_rows_unknown"),
                  fmt::format("partition {}", rows.table), "",
                  "walpost verify -c FILE names those that Kafka lacks; "
                  "walpost replay -c FILE --from-table publishes them"};
  if (rows.count) {
    finding.text = fmt::format(
        "had {} when it was attached to the outbox: Postgres sent "
        "only those that were in the outbox before",
        rows.ToString());
  } else {
    finding.text = fmt::format(
        "was attached to the outbox, and it cannot be known whether it had "
        "rows then, which Postgres does not send ({})",
        rows.trouble);
  }
  return finding;
}

}  // namespace

asio::awaitable<absl::StatusOr<std::optional<Finding>>> PartitionMonitor::Look(
    Connection& connection) {
  const std::string sql = LeavesSql(TablesSql(connection, tables_));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows leaves,
                              co_await connection.Execute(sql));
  const bool is_first_pass = !is_through_;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::pair partition(leaves.Unsigned(i, 0), leaves.Text(i, 2));
    if (known_.contains(partition)) continue;
    const bool was_made_with_it = leaves.Bool(i, 4);
    if (is_first_pass && was_made_with_it) {
      known_.insert(partition);
      continue;
    }
    const absl::StatusOr<ExistingRows> rows =
        co_await CountRowsBeforeAttachment(connection, leaves.Text(i, 1),
                                           partition.second, leaves.Text(i, 3));
    if (!rows.ok()) co_return rows.status();  // the next connection asks again
    known_.insert(partition);
    if (rows->count == 0) co_return std::nullopt;
    co_return Describe(*rows);
  }
  is_through_ = true;
  co_return std::nullopt;
}

}  // namespace walpost
