#include "postgres/catalog/transaction_id_column.h"

#include <algorithm>

#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

bool HasTransactionIds(const OutboxOptions& outbox) {
  return std::any_of(outbox.tables.begin(), outbox.tables.end(),
                     [](const TableOptions& table) {
                       return !table.state.transaction_id.empty();
                     });
}

std::string AddTransactionIdSql(const TableOptions& table) {
  return fmt::format(
      "ALTER TABLE {} ADD COLUMN {} {};", QuoteQualifiedName(table.name),
      QuoteName(table.state.transaction_id), kTransactionIdDefinition);
}

}  // namespace walpost
