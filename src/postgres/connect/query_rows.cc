#include "postgres/connect/query_rows.h"

#include <cstdlib>

#include "base/status_macros.h"
#include "outbox/column_decoder.h"

namespace walpost {

std::optional<std::string_view> QueryRows::Get(size_t row,
                                               size_t column) const {
  const int r = static_cast<int>(row);
  const int c = static_cast<int>(column);
  if (PQgetisnull(result_.get(), r, c)) return std::nullopt;
  return std::string_view(
      PQgetvalue(result_.get(), r, c),
      static_cast<size_t>(PQgetlength(result_.get(), r, c)));
}

size_t QueryRows::bytes() const {
  const int columns = PQnfields(result_.get());
  size_t bytes = 0;
  for (int row = 0; row < PQntuples(result_.get()); ++row) {
    for (int column = 0; column < columns; ++column) {
      bytes += static_cast<size_t>(PQgetlength(result_.get(), row, column));
    }
  }
  return bytes;
}

std::string QueryRows::Text(size_t row, size_t column) const {
  return std::string(Get(row, column).value_or(""));
}

absl::StatusOr<std::optional<std::string>> QueryRows::Bytea(
    size_t row, size_t column) const {
  std::optional<std::string> bytes;
  const std::optional<std::string_view> text = Get(row, column);
  if (text) {
    WALPOST_RETURN_IF_ERROR(DecodeBytea(*text, bytes.emplace()));
  }
  return bytes;
}

uint64_t QueryRows::Unsigned(size_t row, size_t column) const {
  return std::strtoull(Text(row, column).c_str(), nullptr, 10);
}

int64_t QueryRows::Integer(size_t row, size_t column) const {
  return std::strtoll(Text(row, column).c_str(), nullptr, 10);
}

}  // namespace walpost
