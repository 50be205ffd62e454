// Early return on an absl::Status that is not OK.
//
//   WALPOST_RETURN_IF_ERROR(Open(path));
//   WALPOST_ASSIGN_OR_RETURN(Lsn lsn, Lsn::Parse(text));
//
// The CO_ forms are for coroutines:
//
//   WALPOST_CO_RETURN_IF_ERROR(co_await connection.Send(bytes));
//   WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await
//   connection.Execute(sql));
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define WALPOST_CONCAT_INNER(a, b) a##b
#define WALPOST_CONCAT(a, b) WALPOST_CONCAT_INNER(a, b)

#define WALPOST_RETURN_IF_ERROR(expression)                   \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#define WALPOST_ASSIGN_OR_RETURN(declaration, expression)         \
  auto WALPOST_CONCAT(result_, __LINE__) = (expression);          \
  if (!WALPOST_CONCAT(result_, __LINE__).ok()) {                  \
    return std::move(WALPOST_CONCAT(result_, __LINE__)).status(); \
  }                                                               \
  declaration = std::move(WALPOST_CONCAT(result_, __LINE__)).value()

#define WALPOST_CO_RETURN_IF_ERROR(...)         \
  do {                                          \
    const absl::Status status_ = (__VA_ARGS__); \
    if (!status_.ok()) co_return status_;       \
  } while (false)

#define WALPOST_CO_ASSIGN_OR_RETURN(declaration, ...)                \
  auto WALPOST_CONCAT(result_, __LINE__) = (__VA_ARGS__);            \
  if (!WALPOST_CONCAT(result_, __LINE__).ok()) {                     \
    co_return std::move(WALPOST_CONCAT(result_, __LINE__)).status(); \
  }                                                                  \
  declaration = std::move(WALPOST_CONCAT(result_, __LINE__)).value()
