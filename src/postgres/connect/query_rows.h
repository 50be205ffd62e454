// QueryRows: the result of a statement, rows of nullable columns. The values
// are text, except from Connection::ExecuteBinary.
#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

class QueryRows {
 public:
  explicit QueryRows(PGresult* result) : result_(result, PQclear) {}

  size_t size() const { return static_cast<size_t>(PQntuples(result_.get())); }

  // Size of all values.
  size_t bytes() const;

  // Valid as long as this object; nullopt: NULL.
  std::optional<std::string_view> Get(size_t row, size_t column) const;
  // NULL returns the empty string.
  std::string Text(size_t row, size_t column) const;
  bool Bool(size_t row, size_t column) const {
    return Text(row, column) == "t";
  }
  // The bytes of a bytea; nullopt: NULL. kInvalidArgument: it is not one.
  absl::StatusOr<std::optional<std::string>> Bytea(size_t row,
                                                   size_t column) const;
  // NULL, and text that is not a number, return 0.
  uint64_t Unsigned(size_t row, size_t column) const;
  int64_t Integer(size_t row, size_t column) const;

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

}  // namespace walpost
