#include "polling/table_sql.h"

#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "postgres/publication.h"

namespace walpost {

TableSql::TableSql(const PolledTable& table, Quote quote)
    : table_(table),
      quote_(std::move(quote)),
      name_(QuoteQualifiedName(table.name())) {}

std::string TableSql::Column(std::string_view alias,
                             std::string_view name) const {
  return fmt::format("{}.{}", alias, QuoteName(name));
}

std::string TableSql::Order(std::string_view alias) const {
  std::string order = Column(alias, table_.order);
  if (table_.order_has_ties) order += ", " + Column(alias, table_.id);
  return order;
}

std::string TableSql::In(std::string_view alias, Ids ids) const {
  std::vector<std::string> literals;
  for (const std::string& id : ids) literals.push_back(quote_(id));
  return fmt::format("{} IN ({})", Column(alias, table_.id),
                     absl::StrJoin(literals, ", "));
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
      name_, condition, kMostCounted);
}

std::string TableSql::First(std::string_view condition,
                            std::string_view age) const {
  return fmt::format(
      "(SELECT {} AS id, {} AS place, {} AS age FROM {} g WHERE {} ORDER BY {} "
      "LIMIT 1)",
      Column("g", table_.id), Column("g", table_.order), age, name_, condition,
      Order("g"));
}

// Those that are pending and those that are held are in different indexes.
std::string TableSql::Gauges(std::string_view timestamp) const {
  const RowStateOptions& state = table_.state;
  const std::string age = timestamp.empty()
                              ? std::string(kNull)
                              : fmt::format("extract(epoch FROM now() - {})",
                                            Column("g", timestamp));
  std::string pending = Count(Pending("g"));
  std::string first = First(Pending("g"), age);
  if (marks_processing()) {
    pending += " + " + Count(Processing("g"));
    first += "\n  UNION ALL " + First(Processing("g"), age);
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
