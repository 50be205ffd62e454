#include "postgres/catalog/table_rows.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "base/byte_reader.h"
#include "base/check.h"
#include "base/server_version.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/base_types.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

void AppendBigEndian(std::string& bytes, uint32_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift & 0xFF);
  }
}

enum class Generated { kNot, kStored, kVirtual };

struct CatalogColumn {
  pgoutput::ColumnSchema schema;
  Generated generated = Generated::kNot;
  bool is_listed = true;   // among the names that were asked about
  std::string definition;  // of one that is generated: "type GENERATED ..."
};

Generated GeneratedFrom(std::string_view attgenerated) {
  if (attgenerated == "v") return Generated::kVirtual;
  return attgenerated == "s" ? Generated::kStored : Generated::kNot;
}

// `names`: a name[] as text; empty: all columns are listed.
asio::awaitable<absl::StatusOr<std::vector<CatalogColumn>>> ReadColumns(
    Connection& connection, std::string table, std::string names) {
  const size_t dot = table.find('.');
  const std::string is_listed =
      names.empty() ? "true"
                    : fmt::format("a.attname = ANY ({}::name[])",
                                  connection.Literal(names));
  const std::string sql = fmt::format(
      "SELECT a.attname, {}, a.attgenerated, {}, pg_catalog.format_type("
      "a.atttypid, a.atttypmod) || ' GENERATED ALWAYS AS (' || "
      "pg_catalog.pg_get_expr(d.adbin, d.adrelid) || ') STORED' FROM "
      "pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON "
      "d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated <> '' "
      "JOIN pg_catalog.pg_class c ON c.oid = a.attrelid "
      "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "WHERE n.nspname = {} AND c.relname = {} AND a.attnum > 0 "
      "AND NOT a.attisdropped ORDER BY a.attnum",
      BaseTypeSql("a.atttypid"), is_listed,
      connection.Literal(table.substr(0, dot)),
      connection.Literal(table.substr(dot + 1)));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  std::vector<CatalogColumn> columns;
  for (size_t i = 0; i < rows.size(); ++i) {
    CatalogColumn column;
    column.schema.name = rows.Text(i, 0);
    column.schema.type_oid = static_cast<uint32_t>(rows.Unsigned(i, 1));
    column.generated = GeneratedFrom(rows.Text(i, 2));
    column.is_listed = rows.Bool(i, 3);
    column.definition = rows.Text(i, 4);
    columns.push_back(std::move(column));
  }
  co_return columns;
}

pgoutput::RelationSchema SchemaNamed(const std::string& table) {
  pgoutput::RelationSchema schema;
  schema.schema = table.substr(0, table.find('.'));
  schema.name = table.substr(table.find('.') + 1);
  return schema;
}

std::string WhyVirtual(const std::string& table, const CatalogColumn& column) {
  const std::string name = QuoteName(column.schema.name);
  return fmt::format(
      "is a virtual generated column, which is in no WAL (nor is it read from "
      "the table, so that all records are alike): ALTER TABLE {} DROP COLUMN "
      "{}, ADD COLUMN {} {}; or set the key to another column, or to null",
      QuoteQualifiedName(table), name, name, column.definition);
}

// Empty: it is sent.
std::string WhyUnsent(const std::string& table, const CatalogColumn& column,
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
  if (column.is_listed) return "";
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

asio::awaitable<absl::StatusOr<pgoutput::RelationSchema>> ReadTableSchema(
    Connection& connection, std::string table) {
  std::string all;
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::vector<CatalogColumn> columns,
      co_await ReadColumns(connection, table, std::move(all)));
  if (columns.empty()) {
    co_return absl::FailedPreconditionError(
        fmt::format("table {} does not exist: correct outbox.tables", table));
  }
  pgoutput::RelationSchema schema = SchemaNamed(table);
  for (CatalogColumn& column : columns) {
    if (column.generated == Generated::kVirtual) {
      schema.unsent.push_back({column.schema.name, WhyVirtual(table, column)});
    } else {
      schema.columns.push_back(std::move(column.schema));
    }
  }
  co_return schema;
}

asio::awaitable<absl::StatusOr<pgoutput::RelationSchema>> ReadPublishedSchema(
    Connection& connection, std::string table, PublishedColumns published) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::vector<CatalogColumn> columns,
      co_await ReadColumns(connection, table, published.names));
  pgoutput::RelationSchema schema = SchemaNamed(table);
  for (CatalogColumn& column : columns) {
    std::string why =
        WhyUnsent(table, column, published, connection.server_version());
    if (why.empty()) {
      schema.columns.push_back(std::move(column.schema));
    } else {
      schema.unsent.push_back({column.schema.name, std::move(why)});
    }
  }
  co_return schema;
}

asio::awaitable<absl::StatusOr<size_t>> ReadLongestText(Connection& connection,
                                                        std::string table,
                                                        std::string column) {
  const std::string sql = fmt::format(
      "SELECT information_schema._pg_char_max_length(a.atttypid, a.atttypmod) "
      "FROM pg_catalog.pg_attribute a WHERE a.attrelid = {}::regclass AND "
      "a.attname = {}",
      connection.Literal(QuoteQualifiedName(table)),
      connection.Literal(column));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  if (rows.size() == 0 || !rows.Get(0, 0)) co_return size_t{0};
  co_return rows.Unsigned(0, 0);
}

std::string ColumnList(const pgoutput::RelationSchema& schema,
                       std::string_view prefix) {
  std::vector<std::string> columns;
  for (const pgoutput::ColumnSchema& column : schema.columns) {
    columns.push_back(std::string(prefix) + QuoteName(column.name));
  }
  return absl::StrJoin(columns, ", ");
}

const pgoutput::TupleData& RowTuple::Read(const QueryRows& row,
                                          size_t columns) {
  bytes_.clear();
  AppendBigEndian(bytes_, static_cast<uint32_t>(columns), 2);
  for (size_t column = 0; column < columns; ++column) {
    const auto value = row.Get(0, column);
    if (!value) {
      bytes_ += 'n';
      continue;
    }
    bytes_ += 't';
    AppendBigEndian(bytes_, static_cast<uint32_t>(value->size()), 4);
    bytes_ += *value;
  }
  ByteReader reader(bytes_);
  WALPOST_CHECK(pgoutput::TupleData::Read(reader, tuple_));
  return tuple_;
}

}  // namespace walpost
