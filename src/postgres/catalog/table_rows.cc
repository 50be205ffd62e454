#include "postgres/catalog/table_rows.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "base/byte_reader.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

void AppendBigEndian(std::string& bytes, uint32_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift & 0xFF);
  }
}

}  // namespace

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
