#include "polling/table_sql.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "pgoutput/type_oid.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace {

// One literal for all ids: a server takes longer to parse hundreds of them than
// to find the rows. An array of arrays has other elements, so not of every
// type.
constexpr std::array<std::string_view, 4> kUsualIds = {"uuid", "bigint",
                                                       "integer", "text"};

// As it stands in an array's literal.
std::string ArrayElement(std::string_view text) {
  std::string element = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') element += '\\';
    element += c;
  }
  return element + '"';
}

}  // namespace

std::string AgeSql(const PolledTable& table, std::string_view alias) {
  const auto column = table.schema.FindColumn(table.timestamp);
  if (!column) return "NULL";
  const std::string name =
      fmt::format("{}.{}", alias, QuoteName(table.timestamp));
  const uint32_t type = table.schema.columns[*column].type_oid;
  if (pgoutput::IsInteger(type)) {  // milliseconds
    return fmt::format("extract(epoch FROM now()) - {} / 1000.0", name);
  }
  // Infinity has no age, and no difference from now.
  return fmt::format(
      "CASE WHEN isfinite({0}) THEN extract(epoch FROM now() - {0}) END", name);
}

TableSql::TableSql(const PolledTable& table, Quote quote)
    : table_(table),
      quote_(std::move(quote)),
      name_(QuoteQualifiedName(table.name())) {}

std::string TableSql::Column(std::string_view alias,
                             std::string_view name) const {
  if (alias.empty()) return QuoteName(name);
  return fmt::format("{}.{}", alias, QuoteName(name));
}

std::string TableSql::Order(std::string_view alias) const {
  std::string order = Column(alias, table_.order);
  if (table_.order_has_ties) order += ", " + Column(alias, table_.id);
  return order;
}

std::string TableSql::In(std::string_view alias, Ids ids) const {
  const std::string column = Column(alias, table_.id);
  // A literal without a type is not read as a composite one.
  const std::string& type = table_.id_type;
  std::vector<std::string> values;
  if (std::ranges::find(kUsualIds, type) != kUsualIds.end()) {
    for (const std::string& id : ids) values.push_back(ArrayElement(id));
    const std::string array = absl::StrJoin(values, ",");
    return fmt::format("{} = ANY ({}::{}[])", column,
                       quote_(fmt::format("{{{}}}", array)), type);
  }
  const std::string cast = type.empty() ? "" : "::" + type;
  for (const std::string& id : ids) values.push_back(quote_(id) + cast);
  return fmt::format("{} IN ({})", column, absl::StrJoin(values, ", "));
}

std::string TableSql::Now(std::chrono::milliseconds from_now) {
  return fmt::format("now() + interval '{} ms'", from_now.count());
}

std::string TableSql::Pending(std::string_view alias) const {
  const RowStateOptions& state = table_.state;
  if (!state.status.empty()) {
    return fmt::format("{} = {}", Column(alias, state.status),
                       quote_(state.pending));
  }
  if (!state.published_at.empty()) {
    return fmt::format("{} IS NULL", Column(alias, state.published_at));
  }
  return "true";
}

std::string TableSql::Processing(std::string_view alias) const {
  return fmt::format("{} = {}", Column(alias, table_.state.status),
                     quote_(table_.state.processing));
}

std::string TableSql::Count(std::string_view condition) const {
  return fmt::format(
      "(SELECT count(*) FROM (SELECT FROM {} g WHERE {} LIMIT {}) counted)",
      name_, condition, kMaxCounted);
}

std::string TableSql::Some(std::string_view condition) const {
  return fmt::format(
      "SELECT {} AS id, {} AS place, {} AS age FROM {} g WHERE {}",
      Column("g", table_.id), Column("g", table_.order), AgeSql(table_, "g"),
      name_, condition);
}

// Pending and held rows are in different indexes. Held rows are few; reading
// all rows in order to find them is too slow.
std::string TableSql::Gauges() const {
  const RowStateOptions& state = table_.state;
  std::string pending = Count(Pending("g"));
  std::string first =
      fmt::format("({} ORDER BY {} LIMIT 1)", Some(Pending("g")), Order("g"));
  if (marks_processing()) {
    pending = fmt::format("least({} + {}, {})", pending, Count(Processing("g")),
                          kMaxCounted);
    first += fmt::format("\n  UNION ALL ({} OFFSET 0)", Some(Processing("g")));
  }
  std::string failed = "0";
  if (state.can_fail()) {
    failed = Count(fmt::format("{} = {}", Column("g", state.status),
                               quote_(state.failed)));
  }
  return fmt::format(
      "SELECT {}, {}, first.id, first.age FROM (SELECT) one LEFT JOIN LATERAL "
      "(SELECT * FROM (\n  {}) each ORDER BY place LIMIT 1) first ON true",
      pending, failed, first);
}

}  // namespace walpost
