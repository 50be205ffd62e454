#include "postgres/catalog/table_columns.h"

#include <algorithm>
#include <utility>

#include "base/finding_id.h"
#include "base/server_version.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/base_types.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

using Generated = TableColumn::Generated;

// The modifier of the domain `t`, which only the innermost of domains over
// domains can have.
constexpr std::string_view kDomainModifierSql =
    "(WITH RECURSIVE domains AS (SELECT t.typtype, t.typbasetype, t.typtypmod "
    "UNION ALL SELECT b.typtype, b.typbasetype, b.typtypmod FROM domains d "
    "JOIN pg_catalog.pg_type b ON b.oid = d.typbasetype WHERE d.typtype = 'd') "
    "SELECT max(typtypmod) FROM domains WHERE typtype = 'd')";

Generated GeneratedFrom(std::string_view attgenerated) {
  if (attgenerated == "v") return Generated::kVirtual;
  return attgenerated == "s" ? Generated::kStored : Generated::kNot;
}

pgoutput::RelationSchema SchemaNamed(const std::string& table) {
  pgoutput::RelationSchema schema;
  schema.schema = table.substr(0, table.find('.'));
  schema.name = table.substr(table.find('.') + 1);
  return schema;
}

std::string WhyVirtual(const std::string& table, const TableColumn& column) {
  const std::string name = QuoteName(column.schema.name);
  return fmt::format(
      "is a virtual generated column, which is in no WAL (nor is it read from "
      "the table, so that all records are alike): ALTER TABLE {} DROP COLUMN "
      "{}, ADD COLUMN {} {} GENERATED ALWAYS AS ({}) STORED; or set the key to "
      "another column, or to null",
      QuoteQualifiedName(table), name, name, column.type, column.expression);
}

// Empty: it is sent.
std::string WhyUnsent(const std::string& table, const TableColumn& column,
                      const PublishedColumns& published, int server_version) {
  const std::string name = QuoteName(column.schema.name);
  const std::string publication = QuoteName(published.publication);
  const std::string sql_table = QuoteQualifiedName(table);
  if (column.generated == Generated::kVirtual) return WhyVirtual(table, column);
  if (column.generated == Generated::kStored &&
      server_version < kFirstWithGeneratedColumns) {
    return fmt::format(
        "is generated, and only Postgres 18 with publish_generated_columns = "
        "stored sends it: set the key to another column, or to null; or let "
        "the INSERT fill it: ALTER TABLE {} ALTER COLUMN {} DROP EXPRESSION;",
        sql_table, name);
  }
  if (!published.names ||
      std::ranges::count(*published.names, column.schema.name) > 0) {
    return "";
  }
  if (column.generated == Generated::kStored && !published.has_list) {
    return fmt::format(
        "is generated, and publication {0} does not send such columns: ALTER "
        "PUBLICATION {0} SET (publish_generated_columns = stored);",
        publication);
  }
  return fmt::format(
      "is not in the column list of publication {0}: BEGIN; ALTER PUBLICATION "
      "{0} DROP TABLE {1}; ALTER PUBLICATION {0} ADD TABLE {1}{2}; COMMIT; or "
      "set the key to another column, or to null",
      publication, sql_table,
      published.filter.empty() ? ""
                               : fmt::format(" WHERE ({})", published.filter));
}

}  // namespace

std::string ColumnsSql() {
  return fmt::format(
      "SELECT tables.number, a.attname, {0}, "
      "pg_catalog.format_type(a.atttypid, a.atttypmod), a.attgenerated, "
      "pg_catalog.pg_get_expr(d.adbin, d.adrelid), "
      "CASE t.typtype WHEN 'd' THEN {1} ELSE a.atttypmod END, "
      "a.attnotnull OR t.typnotnull, "
      "(SELECT pg_catalog.array_agg(e.enumlabel ORDER BY e.enumsortorder) "
      "FROM pg_catalog.pg_enum e WHERE e.enumtypid IN ({0}, element.oid)), "
      "CASE WHEN t.typtype = 'd' THEN (SELECT b.typname FROM "
      "pg_catalog.pg_type b WHERE b.oid = {0} AND b.oid >= 16384) "
      "WHEN t.oid >= 16384 THEN t.typname END, t.typtype = 'd', "
      "(SELECT k.number FROM (SELECT i.indkey, i.indnkeyatts "
      "FROM pg_catalog.pg_index i "
      "JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid "
      "WHERE i.indrelid = a.attrelid AND i.indisunique "
      "ORDER BY i.indisprimary DESC, i.indisclustered DESC, c.relname LIMIT 1) "
      "key, pg_catalog.unnest(key.indkey::int2[]) "
      "WITH ORDINALITY k(attnum, number) "
      "WHERE k.attnum = a.attnum AND k.number <= key.indnkeyatts "
      "AND 0 <> ALL (key.indkey::int2[])), element.oid, "
      "CASE WHEN element.oid >= 16384 THEN element.typname END, "
      "coalesce(element.typcategory = 'E', false) "
      "FROM tables JOIN pg_catalog.pg_attribute a "
      "ON a.attrelid = tables.relation "
      "JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
      "LEFT JOIN pg_catalog.pg_type base "
      "ON base.oid = {0} AND base.typcategory = 'A' "
      "LEFT JOIN pg_catalog.pg_type element ON element.oid = base.typelem "
      "LEFT JOIN pg_catalog.pg_attrdef d "
      "ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
      "WHERE a.attnum > 0 AND NOT a.attisdropped "
      "ORDER BY tables.number, a.attnum",
      BaseTypeSql("a.atttypid"), kDomainModifierSql);
}

asio::awaitable<absl::StatusOr<std::vector<TableColumns>>> ReadColumns(
    Connection& connection, std::span<const TableOptions> tables) {
  const std::string sql =
      fmt::format("WITH {} {}", TablesSql(connection, tables), ColumnsSql());
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  std::vector<TableColumns> columns(tables.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    TableColumn& column = columns[rows.Unsigned(i, 0)].emplace_back();
    column.schema.name = rows.Text(i, 1);
    column.schema.type_oid = static_cast<uint32_t>(rows.Unsigned(i, 2));
    column.type = rows.Text(i, 3);
    column.generated = GeneratedFrom(rows.Text(i, 4));
    const bool is_generated = column.generated != Generated::kNot;
    (is_generated ? column.expression : column.schema.default_expression) =
        rows.Text(i, 5);
    column.schema.type_modifier = static_cast<int32_t>(rows.Integer(i, 6));
    column.schema.is_not_null = rows.Bool(i, 7);
    column.schema.enum_labels = ParseNames(rows.Text(i, 8));
    column.schema.type_name = rows.Text(i, 9);
    column.schema.is_domain = rows.Bool(i, 10);
    column.schema.key_number = rows.Unsigned(i, 11);
    column.schema.element_oid = static_cast<uint32_t>(rows.Unsigned(i, 12));
    column.schema.element_name = rows.Text(i, 13);
    column.schema.has_enum_elements = rows.Bool(i, 14);
  }
  co_return columns;
}

asio::awaitable<absl::StatusOr<pgoutput::RelationSchema>> ReadTableSchema(
    Connection& connection, std::string table) {
  std::vector<TableOptions> tables(1);
  tables[0].name = table;
  WALPOST_CO_ASSIGN_OR_RETURN(std::vector<TableColumns> columns,
                              co_await ReadColumns(connection, tables));
  if (columns[0].empty()) {
    co_return WithFindingId(
        absl::FailedPreconditionError(fmt::format(
            "table {} does not exist: correct outbox.tables", table)),
        FindingId(kFindingTableMissing));
  }
  pgoutput::RelationSchema schema = SchemaNamed(table);
  for (TableColumn& column : columns[0]) {
    if (column.generated == Generated::kVirtual) {
      schema.unsent.push_back({column.schema.name, WhyVirtual(table, column)});
    } else {
      schema.columns.push_back(std::move(column.schema));
    }
  }
  co_return schema;
}

std::vector<std::string> ParseNames(std::string_view array) {
  std::vector<std::string> names;
  if (array.size() <= 2) return names;
  array = array.substr(1, array.size() - 2);  // {...}
  names.emplace_back();
  bool is_quoted = false;
  for (size_t i = 0; i < array.size(); ++i) {
    if (array[i] == '"') {
      is_quoted = !is_quoted;
    } else if (array[i] == ',' && !is_quoted) {
      names.emplace_back();
    } else {
      if (array[i] == '\\' && i + 1 < array.size()) ++i;
      names.back() += array[i];
    }
  }
  return names;
}

pgoutput::RelationSchema PublishedSchema(const std::string& table,
                                         const TableColumns& columns,
                                         const PublishedColumns& published,
                                         int server_version) {
  pgoutput::RelationSchema schema = SchemaNamed(table);
  for (const TableColumn& column : columns) {
    std::string why = WhyUnsent(table, column, published, server_version);
    if (why.empty()) {
      schema.columns.push_back(column.schema);
    } else {
      schema.unsent.push_back({column.schema.name, std::move(why)});
    }
  }
  return schema;
}

}  // namespace walpost
