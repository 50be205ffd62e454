#include "postgres/tables/since.h"

#include "fmt/format.h"

namespace walpost {

std::string SinceSql(Connection& connection, const std::string& since) {
  const std::string text = connection.Literal(since);
  const bool is_ago = since.find_first_not_of("0123456789") == since.size() - 1;
  return is_ago ? fmt::format("(now() - {}::interval)", text)
                : fmt::format("{}::timestamptz", text);
}

}  // namespace walpost
