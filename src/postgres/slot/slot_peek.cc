#include "postgres/slot/slot_peek.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/route.h"
#include "outbox/table_pattern.h"
#include "outbox/transaction_assembler.h"
#include "pgoutput/decoder.h"
#include "pgoutput/relation_schema.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/read_base_types.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::string PeekSql(Connection& connection, const WalSourceOptions& postgres,
                    Lsn end) {
  return fmt::format(
      "SELECT data FROM pg_catalog.pg_logical_slot_peek_binary_changes({}, "
      "{}::pg_lsn, NULL, 'proto_version', '1', 'publication_names', {})",
      connection.Literal(postgres.slot), connection.Literal(end.ToString()),
      PublicationList(connection, postgres.publication));
}

using Take = std::function<absl::Status(const pgoutput::Message& message)>;

absl::Status TakeRow(const QueryRows& row, const Take& take) {
  WALPOST_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                           row.Bytea(0, 0));
  if (!bytes) return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(const pgoutput::Message message,
                           pgoutput::Decode(*bytes));
  return take(message);
}

asio::awaitable<absl::Status> PeekMessages(Connection& connection,
                                           const std::string& sql,
                                           const Take& take) {
  WALPOST_CO_RETURN_IF_ERROR(co_await connection.StartRows(sql));
  for (;;) {
    absl::StatusOr<std::optional<QueryRows>> row =
        co_await connection.NextRow();
    if (!row.ok()) co_return row.status();
    if (!*row) co_return absl::OkStatus();
    const absl::Status taken = TakeRow(**row, take);
    if (!taken.ok()) co_return taken;
  }
}

// Tables that match a pattern may be in the WAL alone.
asio::awaitable<absl::StatusOr<OutboxOptions>> AddTablesOfWal(
    Connection& connection, const std::string& sql, OutboxOptions outbox) {
  if (outbox.patterns.empty()) co_return outbox;
  std::set<std::string> names;
  const Take note = [&names](const pgoutput::Message& message) {
    if (auto* relation = std::get_if<pgoutput::Relation>(&message)) {
      names.insert(pgoutput::RelationSchema(*relation).QualifiedName());
    }
    return absl::OkStatus();
  };
  WALPOST_CO_RETURN_IF_ERROR(co_await PeekMessages(connection, sql, note));
  const std::vector<std::string> found(names.begin(), names.end());
  WALPOST_CO_RETURN_IF_ERROR(AddByPattern(outbox, found));
  co_return outbox;
}

}  // namespace

asio::awaitable<absl::Status> PeekSlot(
    Connection& connection, const WalSourceOptions& postgres,
    const OutboxOptions& outbox,
    const std::vector<std::vector<std::string>>& references, Lsn end,
    const std::function<void(const Event& event)>& show) {
  const std::string sql = PeekSql(connection, postgres, end);
  WALPOST_CO_ASSIGN_OR_RETURN(const OutboxOptions all,
                              co_await AddTablesOfWal(connection, sql, outbox));
  std::vector<std::vector<std::string>> all_references = references;
  if (all.tables.size() > outbox.tables.size()) {
    WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<Route> routes,
                                Route::CreateAll(all));
    all_references = ReferencesOf(routes);
  }
  WALPOST_CO_ASSIGN_OR_RETURN(BaseTypes types,
                              co_await ReadBaseTypes(connection, outbox));
  types.Complete();
  TransactionAssembler assembler(all, std::move(all_references));
  assembler.SetBaseTypes(std::move(types));
  const size_t messages = outbox.tables.size();
  const Take take = [&](const pgoutput::Message& message) {
    Step step;
    WALPOST_RETURN_IF_ERROR(assembler.Apply(message, step));
    const bool is_event = step.kind == Step::Kind::kEvent ||
                          step.kind == Step::Kind::kUndeliverable;
    step.event.source = std::min(step.event.source, messages);
    if (is_event) show(step.event);
    return absl::OkStatus();
  };
  co_return co_await PeekMessages(connection, sql, take);
}

}  // namespace walpost
